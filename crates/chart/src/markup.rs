//! XML elements. Whatever is written into one, as an attribute or as text, is escaped on its way in, so no caller can forget it.

use std::fmt::Display;

/// An element with its attributes and its content.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    tag: &'static str,
    /// `<tag name="value" …`, still without its end.
    start: String,
    /// Markup between start and end tag.
    content: String,
}

impl Element {
    /// An element without attributes and content.
    pub(crate) fn new(tag: &'static str) -> Self {
        Element { tag, start: format!("<{tag}"), content: String::new() }
    }

    /// Adds an attribute.
    pub(crate) fn attribute(mut self, name: &'static str, value: impl Display) -> Self {
        self.start += &format!(" {name}=\"{}\"", escaped(&value.to_string()));
        self
    }

    /// Adds an attribute if there is a value for it.
    pub(crate) fn optional(self, name: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.attribute(name, value),
            None => self,
        }
    }

    /// Adds text.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.content += &escaped(text);
        self
    }

    /// Adds an element.
    pub(crate) fn child(mut self, child: Element) -> Self {
        child.write_to(&mut self.content);
        self
    }

    /// Adds elements.
    pub(crate) fn children(self, children: impl IntoIterator<Item = Element>) -> Self {
        children.into_iter().fold(self, Element::child)
    }

    /// Adds elements, each on a line of its own.
    pub(crate) fn lines(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        self.content += "\n";
        for child in children {
            child.write_to(&mut self.content);
            self.content += "\n";
        }
        self
    }

    /// The markup of the element.
    pub(crate) fn markup(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out);
        out
    }

    fn write_to(&self, out: &mut String) {
        *out += &self.start;
        if self.content.is_empty() {
            *out += "/>";
        } else {
            *out += &format!(">{}</{}>", self.content, self.tag);
        }
    }
}

/// Text that is not taken for markup; control characters, which XML does not allow, become spaces. Attributes are always between double quotes, so
/// single quotes can stay.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c if c.is_control() || is_noncharacter(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// U+FFFE and U+FFFF, which XML does not allow either.
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_never_markup() {
        let element =
            Element::new("g").attribute("data-words", "\"><b>&'").text("</g><script>\u{7}").markup();
        assert_eq!(element, "<g data-words=\"&quot;&gt;&lt;b&gt;&amp;'\">&lt;/g&gt;&lt;script&gt; </g>");
    }

    #[test]
    fn elements_nest_and_empty_ones_close_themselves() {
        let circle = Element::new("circle").attribute("r", 6).optional("fill", None::<&str>);
        assert_eq!(circle.markup(), "<circle r=\"6\"/>");
        let group = Element::new("g").children([circle.clone(), circle.clone()]);
        assert_eq!(group.markup(), "<g><circle r=\"6\"/><circle r=\"6\"/></g>");
        assert_eq!(Element::new("g").lines([circle]).markup(), "<g>\n<circle r=\"6\"/>\n</g>");
    }
}
