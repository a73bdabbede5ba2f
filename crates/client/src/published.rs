//! A protocol as it is published: its specification, and how its reports are drawn in whole numbers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::belonging;
use crate::canonical::{canonical, fingerprint};
use crate::draw::Draw;
use crate::error::Fault;
use crate::sampler::Sampler;

/// The name of the format.
const FORMAT: &str = "sottovoce protocol";

/// The version of the format.
pub const VERSION: u32 = 1;

/// A protocol with all that a client needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Published {
    format: String,
    version: u32,
    /// The SHA-256 of the canonical specification.
    pub fingerprint: String,
    /// The specification, with all sizes filled in.
    pub protocol: Value,
    /// The number of inputs.
    pub inputs: usize,
    /// The names of the inputs, if they have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// The exact LDP level of the reports as they are drawn, rounded up.
    pub realised_ldp: Level,
    /// How a report is drawn.
    pub draw: Draw,
}

/// The LDP level of what is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// The level, rounded up; `"inf"` if there is none.
    pub value: Value,
    /// Whether it is reached; otherwise it is only known not to be exceeded.
    pub exact: bool,
}

impl Published {
    /// Refuses what must not be used, and gives the sampler.
    pub(crate) fn check(&self) -> Result<Sampler, Fault> {
        if (self.format.as_str(), self.version) != (FORMAT, VERSION) {
            return Err(Fault::Version);
        }
        let canonical = canonical(&self.protocol).ok_or(Fault::Specification)?;
        if fingerprint(&canonical) != self.fingerprint {
            return Err(Fault::Fingerprint);
        }
        let sampler = self.draw.sampler()?;
        let labels = self.labels.as_ref().is_none_or(|labels| labels.len() == self.inputs);
        if sampler.inputs() != self.inputs || !labels {
            return Err(Fault::Inputs);
        }
        belonging::check(self)?;
        Ok(sampler)
    }

    /// Reads a published protocol. It is checked where a [`Client`](crate::Client) is made of it.
    ///
    /// # Errors
    /// Another version, or not the JSON of a published protocol.
    pub fn read(json: &str) -> Result<Self, Fault> {
        let value: Value = serde_json::from_str(json).map_err(|_| Fault::Form)?;
        // A newer version may have other keys.
        if value.get("format") != Some(&FORMAT.into()) || value.get("version") != Some(&VERSION.into()) {
            return Err(Fault::Version);
        }
        serde_json::from_value(value).map_err(|_| Fault::Form)
    }
}

#[cfg(feature = "protocol")]
mod of_protocol {
    use serde_json::json;
    use sottovoce::Protocol;

    use super::{FORMAT, Level, Published, VERSION};
    use crate::canonical::{canonical, fingerprint};
    use crate::draw::Draw;
    use crate::error::{Fault, Result};
    use crate::randomiser::Randomiser;

    impl Published {
        /// The published form of a protocol with this specification, and names for its inputs if they have any.
        ///
        /// # Errors
        /// As for [`Randomiser::new`]; or the specification is incomplete.
        pub fn new(protocol: &Protocol, specification: &str, labels: Option<&[String]>) -> Result<Self> {
            let randomiser = Randomiser::new(protocol)?;
            let protocol = serde_json::from_str(specification).map_err(|_| Fault::Specification)?;
            let canonical = canonical(&protocol).ok_or(Fault::Specification)?;
            let (level, exact) = (randomiser.realised().loss.level(), randomiser.realised().exact);
            let value = if level.is_finite() { json!(level) } else { json!("inf") };
            Ok(Published {
                format: FORMAT.into(),
                version: VERSION,
                fingerprint: fingerprint(&canonical),
                protocol,
                inputs: randomiser.inputs(),
                labels: labels.map(<[String]>::to_vec),
                realised_ldp: Level { value, exact },
                draw: Draw::from(randomiser.sampler()),
            })
        }
    }
}
