//! Text in HTML: escaped, without control characters, with subscripts and superscripts.

use maud::{Markup, Render, html};
use sottovoce_chart::{Level, runs};

/// Text with its subscripts and superscripts: `S_mu` becomes S with the subscript μ.
pub(super) struct Words<'a>(pub &'a str);

impl Render for Words<'_> {
    fn render(&self) -> Markup {
        html! {
            @for (piece, level) in runs(self.0) {
                @match level {
                    Level::Base => (Plain(&piece)),
                    Level::Sub => sub { (Plain(&piece)) },
                    Level::Super => sup { (Plain(&piece)) },
                }
            }
        }
    }
}

/// Text as it is written. Control characters, of which HTML allows few, become spaces; line ends stay.
pub(super) struct Plain<'a>(pub &'a str);

impl Render for Plain<'_> {
    fn render_to(&self, buffer: &mut String) {
        let visible = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
        self.0.chars().map(visible).collect::<String>().render_to(buffer);
    }
}

/// Text for an attribute, which cannot contain elements: subscripts and superscripts become ordinary letters.
pub(super) fn without_markup(text: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    runs(text).iter().flat_map(|(piece, _)| piece.chars()).map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_write_is_never_markup() {
        assert_eq!(Words("<b>\"&'\u{7}").render().0, "&lt;b&gt;&quot;&amp;' ");
        assert_eq!(Words("S_mu < S^wc").render().0, "S<sub>μ</sub> &lt; S<sup>wc</sup>");
        assert_eq!(Plain("one\n\ttwo").render().0, "one\n two");
        assert_eq!(
            html! { td data-name=(without_markup("S_mu \"<&")) {} }.0,
            "<td data-name=\"Sμ &quot;&lt;&amp;\"></td>"
        );
    }
}
