//! The pages, and the files that they use: all of them are in the program, and none comes from elsewhere.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::Service;

/// Path, kind and contents.
pub(super) const FILES: [(&str, &str, &str); 9] = [
    ("/", "text/html; charset=utf-8", include_str!("../../assets/index.html")),
    ("/take", "text/html; charset=utf-8", include_str!("../../assets/take.html")),
    ("/results", "text/html; charset=utf-8", include_str!("../../assets/results.html")),
    ("/take.js", "text/javascript; charset=utf-8", include_str!("../../assets/take.js")),
    ("/results.js", "text/javascript; charset=utf-8", include_str!("../../assets/results.js")),
    ("/sottovoce.js", "text/javascript; charset=utf-8", include_str!("../../assets/sottovoce.js")),
    ("/style.css", "text/css; charset=utf-8", include_str!("../../assets/style.css")),
    ("/icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
    ("/openapi.json", "application/json", include_str!("../../assets/openapi.json")),
];

/// The paths of the pages.
pub(super) fn router() -> Router<Arc<Service>> {
    FILES.iter().fold(Router::new(), |router, (path, kind, text)| {
        router.route(path, get(async move || file(kind, text)))
    })
}

/// A file. Scripts of other sites may use it too, so that a study can be on anybody's page.
fn file(kind: &'static str, text: &'static str) -> Response {
    let headers: [(HeaderName, &str); 3] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    ];
    (headers, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::FILES;

    #[test]
    fn the_client_of_the_pages_is_the_one_that_is_published() {
        let client = FILES.iter().find(|(path, _, _)| *path == "/sottovoce.js").unwrap().2;
        let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/js/dist/sottovoce.js");
        // Not `assert_eq`: it would print both files.
        assert!(
            client == std::fs::read_to_string(published).unwrap(),
            "copy clients/js/dist/sottovoce.js to assets"
        );
    }
}
