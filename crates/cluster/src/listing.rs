//! Which files are meant: paths and patterns on this machine, URLs of stores, and patterns of URLs.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::execution::runtime_env::RuntimeEnv;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde::{Deserialize, Serialize};
use sottovoce_collect::Error as CollectError;
use sottovoce_collect::files::inputs::{Input, inputs};
use url::Url;

use crate::error::{Error, Result};
use crate::store::kind;

/// A file of reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredName {
    /// What messages call it.
    pub(crate) name: String,
    /// Where every worker finds it.
    pub(crate) url: String,
    /// How many bytes it has.
    pub(crate) length: u64,
}

impl StoredName {
    /// Its store, and its path there.
    pub(crate) fn locate(&self, runtime: &RuntimeEnv) -> Result<(Arc<dyn ObjectStore>, Path)> {
        locate(runtime, &self.name, &url(&self.url)?)
    }

    pub(crate) fn input(&self) -> Input {
        Input::File(self.name.clone().into())
    }
}

fn url(text: &str) -> Result<Url> {
    let known = |url: &Url| ["s3", "s3a", "http", "https", "file"].contains(&url.scheme());
    Url::parse(text).ok().filter(known).ok_or_else(|| Error::Url { argument: text.to_owned() })
}

fn locate(runtime: &RuntimeEnv, name: &str, url: &Url) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let problem = |problem: String| Error::Store { file: name.to_owned(), problem };
    let store = runtime.object_store_registry.get_store(url).map_err(|error| problem(error.to_string()))?;
    let path = Path::from_url_path(url.path()).map_err(|error| problem(error.to_string()))?;
    Ok((store, path))
}

/// The files that the arguments name, in the order of the arguments, those of a pattern by name.
pub(crate) async fn files(arguments: &[String], runtime: &RuntimeEnv) -> Result<Vec<StoredName>> {
    let mut files = Vec::new();
    for argument in arguments {
        match argument.contains("://") {
            true => files.extend(remote(argument, runtime).await?),
            false => files.extend(local(argument)?),
        }
    }
    let mut seen = HashMap::new();
    for file in &files {
        if let Some(first) = seen.insert(&file.url, &file.name) {
            return Err(CollectError::Duplicate { first: first.clone(), second: file.name.clone() }.into());
        }
    }
    Ok(files)
}

fn local(argument: &str) -> Result<Vec<StoredName>> {
    let stored = |input: Input| {
        let name = input.to_string();
        let Input::File(path) = &input else { return Err(Error::NotParquet { file: name }) };
        let unreadable = |error| CollectError::Unreadable { file: name.clone(), error };
        let whole = path.canonicalize().map_err(unreadable)?;
        let length = whole.metadata().map_err(unreadable)?.len();
        let url = Url::from_file_path(&whole).map_err(|()| Error::Url { argument: name.clone() })?;
        Ok(StoredName { name, url: url.into(), length })
    };
    inputs(&[argument.to_owned()])?.into_iter().map(stored).collect()
}

async fn remote(argument: &str, runtime: &RuntimeEnv) -> Result<Vec<StoredName>> {
    let address = url(argument)?;
    if address.path().contains(['*', '[']) || address.query().is_some() {
        return match address.scheme() {
            "http" | "https" => Err(Error::NoList { argument: argument.to_owned() }),
            _ => matching(argument, &address, runtime).await,
        };
    }
    let (store, path) = locate(runtime, argument, &address)?;
    let found = store.head(&path).await.map_err(kind);
    let found = found.map_err(|error| CollectError::Unreadable { file: argument.to_owned(), error })?;
    Ok(vec![StoredName { name: argument.to_owned(), url: argument.to_owned(), length: found.size }])
}

/// The files of a store that match a pattern. (`?` begins a query in a URL, so it is no sign of a pattern there.)
async fn matching(argument: &str, address: &Url, runtime: &RuntimeEnv) -> Result<Vec<StoredName>> {
    let bad = || Error::Url { argument: argument.to_owned() };
    let (base, _) = argument.split_once(['*', '[']).ok_or_else(bad)?;
    let base = &base[..=base.rfind('/').ok_or_else(bad)?];
    let (store, prefix) = locate(runtime, argument, &url(base)?)?;
    let (origin, inside) = argument.split_at(argument.len() - address.path().len());
    let pattern = glob::Pattern::new(inside.trim_start_matches('/')).map_err(|_| bad())?;
    let options = glob::MatchOptions { require_literal_separator: true, ..Default::default() };
    let listed = store.list(Some(&prefix)).map(|found| found.map_err(kind));
    let unreadable = |error| CollectError::Unreadable { file: argument.to_owned(), error };
    let mut found: Vec<_> = listed.try_collect().await.map_err(unreadable)?;
    found.retain(|found| pattern.matches_with(found.location.as_ref(), options));
    found.sort_by(|left, right| left.location.cmp(&right.location));
    if found.is_empty() {
        return Err(CollectError::NoFiles { argument: argument.to_owned() }.into());
    }
    let named = |found: object_store::ObjectMeta| {
        let name = format!("{origin}/{}", found.location);
        StoredName { url: name.clone(), name, length: found.size }
    };
    Ok(found.into_iter().map(named).collect())
}
