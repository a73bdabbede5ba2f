//! From a value to its report.

use std::collections::HashMap;

use crate::envelope::Submission;
use crate::error::{Error, Fault, Result};
use crate::layout::Layout;
use crate::published::Published;
use crate::sampler::Sampler;
use crate::words::Words;

/// Makes reports of one published protocol.
#[derive(Clone, Debug)]
pub struct Client {
    published: Published,
    sampler: Sampler,
    layout: Layout,
    names: Option<HashMap<String, usize>>,
}

impl Client {
    /// The client of a published protocol.
    ///
    /// # Errors
    /// Why it must not be used.
    pub fn new(published: Published) -> Result<Self> {
        let sampler = published.check()?;
        let names = published.labels.as_ref().map(|labels| {
            labels.iter().enumerate().map(|(x, label)| (label.clone(), x)).collect::<HashMap<_, _>>()
        });
        if names.as_ref().is_some_and(|names| names.len() != published.inputs) {
            return Err(Fault::Inputs.into());
        }
        Ok(Client { layout: sampler.layout(), sampler, names, published })
    }

    /// The client of a published protocol in JSON.
    ///
    /// # Errors
    /// Why it must not be used.
    pub fn open(json: &str) -> Result<Self> {
        Client::new(Published::read(json)?)
    }

    /// The protocol.
    pub fn published(&self) -> &Published {
        &self.published
    }

    /// How a report is laid out in bytes.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The input that a value names: a label, letter by letter, or where there are no labels the number of an input in decimal digits.
    ///
    /// # Errors
    /// [`Error::NotInDomain`], which does not repeat the value.
    pub fn input(&self, value: &str) -> Result<usize> {
        let found = match &self.names {
            Some(names) => names.get(value).copied(),
            None => {
                value.parse().ok().filter(|x: &usize| *x < self.published.inputs && x.to_string() == value)
            }
        };
        found.ok_or(Error::NotInDomain)
    }

    /// The text of a report on a value.
    ///
    /// # Errors
    /// As for [`input`](Client::input); nothing is drawn.
    pub fn report(&self, value: &str, words: &mut impl Words) -> Result<String> {
        self.report_on(self.input(value)?, words)
    }

    /// The text of a report on an input.
    ///
    /// # Errors
    /// [`Error::NotInDomain`]; nothing is drawn.
    pub fn report_on(&self, x: usize, words: &mut impl Words) -> Result<String> {
        if x >= self.published.inputs {
            return Err(Error::NotInDomain);
        }
        let (mut bytes, mut text) = (vec![0; self.layout.length()], Vec::new());
        self.sampler.report(x, words, &mut bytes);
        self.layout.write_text(&bytes, &mut text);
        // Unwrap safety: the text is decimal or hexadecimal digits.
        Ok(String::from_utf8(text).unwrap())
    }

    /// A report on a value, ready to be sent: with a random id, which it keeps until it is acknowledged.
    ///
    /// # Errors
    /// As for [`report`](Client::report).
    pub fn submission(&self, value: &str, words: &mut impl Words) -> Result<Submission> {
        let report = self.report(value, words)?;
        let id = format!("{:016x}{:016x}", words.word(), words.word());
        Ok(Submission { id, report })
    }
}
