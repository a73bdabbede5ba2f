//! The protocol of a tally, as workers hear of it: its canonical JSON.

use std::sync::{Arc, Mutex, PoisonError};

use sottovoce_collect::files::inputs::Input;
use sottovoce_collect::{Form, Identity, PartialTally};
use sottovoce_job::Identified;

use crate::error::{Error, Result};

/// A protocol and what to keep of its reports.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) identified: Arc<Identified>,
    pub(crate) form: Form,
}

impl Subject {
    /// The protocol with this canonical JSON. The last one is kept: a worker meets the same one again and again.
    pub(crate) fn read(specification: &str, form: &str) -> Result<Self> {
        static LAST: Mutex<Option<Arc<Identified>>> = Mutex::new(None);
        let form = form_named(form)?;
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(identified) = last.as_ref().filter(|last| last.identity.specification == specification) {
            return Ok(Subject { identified: Arc::clone(identified), form });
        }
        let fingerprint = Identity::new(specification.to_owned()).fingerprint;
        let found = Identified::found(&Input::File("the protocol".into()), specification, &fingerprint)?;
        let identified = Arc::new(found);
        *last = Some(Arc::clone(&identified));
        Ok(Subject { identified, form })
    }

    pub(crate) fn specification(&self) -> &str {
        &self.identified.identity.specification
    }

    pub(crate) fn form_name(&self) -> &'static str {
        match self.form {
            Form::Automatic => "auto",
            Form::Patterns => "patterns",
            Form::Supports => "supports",
        }
    }

    /// No reports yet.
    pub(crate) fn nothing(&self) -> PartialTally {
        PartialTally::new(&self.identified.named.protocol, &self.identified.identity.fingerprint, self.form)
    }

    /// What a worker has sent.
    pub(crate) fn part(&self, bytes: &[u8]) -> Result<PartialTally> {
        let protocol = &self.identified.named.protocol;
        Ok(PartialTally::from_bytes(bytes, protocol, &self.identified.identity.fingerprint)?)
    }
}

fn form_named(name: &str) -> Result<Form> {
    match name {
        "auto" => Ok(Form::Automatic),
        "patterns" => Ok(Form::Patterns),
        "supports" => Ok(Form::Supports),
        _ => Err(Error::Reported("the form of a tally is one of auto, patterns and supports".into())),
    }
}
