//! Finds room for labels among lines and other labels.
//!
//! Positions all along a line are tried. A label must not cover anything; among the positions left, those far from other lines cost least.

use crate::layout::Frame;
use crate::lettering;

/// Largest distance between the sample points along a line.
const STEP: f64 = 4.0;

/// A label is placed where other lines are at least this far away, if there is such a place.
const LEAST_DISTANCE: f64 = 9.0;

/// A label to be placed.
pub(crate) struct Label<'a> {
    pub text: &'a str,
    pub size: f64,
    pub bold: bool,
}

#[derive(Clone, Copy, Debug)]
struct Rectangle {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Rectangle {
    /// The space of a label whose baseline begins at `(x, y)`.
    fn of(label: &Label<'_>, (x, y): (f64, f64)) -> Self {
        let width = lettering::width(label.text, label.size, label.bold);
        Rectangle { left: x, right: x + width, top: y - 0.82 * label.size, bottom: y + 0.28 * label.size }
    }

    fn overlaps(&self, other: &Rectangle) -> bool {
        self.left < other.right + 4.0
            && other.left < self.right + 4.0
            && self.top < other.bottom + 2.0
            && other.top < self.bottom + 2.0
    }

    /// Distance of a point from the rectangle; 0 inside.
    fn distance(&self, (x, y): (f64, f64)) -> f64 {
        let dx = (self.left - x).max(x - self.right).max(0.0);
        let dy = (self.top - y).max(y - self.bottom).max(0.0);
        dx.hypot(dy)
    }
}

/// What labels must not cover: lines, marks, and labels that have been placed.
pub(crate) struct Crowd {
    pub frame: Frame,
    /// Sample points of lines and marks, with the index of their series.
    samples: Vec<(usize, (f64, f64))>,
    names: Vec<Rectangle>,
}

impl Crowd {
    pub(crate) fn new(frame: Frame) -> Self {
        Crowd { frame, samples: vec![], names: vec![] }
    }

    /// Adds a series.
    pub(crate) fn add_series(&mut self, owner: usize, places: &[(f64, f64)], joined: bool) {
        self.samples.extend(places.iter().filter(|p| !p.0.is_nan()).map(|p| (owner, *p)));
        if !joined {
            return;
        }
        for pair in places.windows(2).filter(|w| !w[0].0.is_nan() && !w[1].0.is_nan()) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let pieces = ((x1 - x0).hypot(y1 - y0) / STEP).ceil().max(1.0);
            for i in 1..pieces as usize {
                let share = i as f64 / pieces;
                self.samples.push((owner, (x0 + share * (x1 - x0), y0 + share * (y1 - y0))));
            }
        }
    }

    /// A position beside the line of a series; none if every candidate covers something.
    pub(crate) fn beside(&mut self, owner: usize, label: &Label<'_>) -> Option<(f64, f64)> {
        let width = lettering::width(label.text, label.size, label.bold);
        let anchors = self.anchors(owner);
        let candidates = anchors.iter().flat_map(|&(x, y)| {
            [
                (7.0, 4.5),
                (-7.0 - width, 4.5),
                (5.0, -6.0),
                (5.0, 15.0),
                (-5.0 - width, -6.0),
                (-5.0 - width, 15.0),
            ]
            .map(|(dx, dy)| (x + dx, y + dy))
        });
        self.best(candidates.collect::<Vec<_>>(), label, Some(owner), 4.0)
    }

    /// The sample points of a series that are far from all other series; all of its points if none are.
    fn anchors(&self, owner: usize) -> Vec<(f64, f64)> {
        let own: Vec<(f64, f64)> = self.samples.iter().filter(|s| s.0 == owner).map(|s| s.1).collect();
        let far = |(x, y): &(f64, f64)| {
            self.samples
                .iter()
                .all(|(who, (ox, oy))| *who == owner || (x - ox).hypot(y - oy) >= LEAST_DISTANCE)
        };
        let alone: Vec<(f64, f64)> = own.iter().copied().filter(far).collect();
        if alone.is_empty() { own } else { alone }
    }

    /// A position near the top of a vertical line.
    pub(crate) fn along(&mut self, x: f64, label: &Label<'_>) -> Option<(f64, f64)> {
        let width = lettering::width(label.text, label.size, label.bold);
        let heights = (0..12).map(|i| self.frame.top + 11.0 + 16.0 * f64::from(i));
        let candidates = heights.flat_map(|y| [(x + 6.0, y), (x - 6.0 - width, y)]);
        self.best(candidates.collect::<Vec<_>>(), label, None, 20.0)
    }

    /// A position around a mark, and the end of the line from the mark to it.
    pub(crate) fn around(
        &mut self,
        (x, y): (f64, f64),
        label: &Label<'_>,
    ) -> Option<((f64, f64), (f64, f64))> {
        let width = lettering::width(label.text, label.size, label.bold);
        let mut candidates = Vec::new();
        for far in [16.0, 28.0, 42.0, 60.0, 80.0, 104.0, 130.0] {
            for (dx, dy) in [
                (0.7, 0.7),
                (0.7, -0.7),
                (-0.7, 0.7),
                (-0.7, -0.7),
                (0.3, 0.95),
                (-0.3, -0.95),
                (0.3, -0.95),
                (-0.3, 0.95),
            ] {
                let (ax, ay) = (x + far * dx, y + far * dy);
                let left = if dx > 0.0 { ax } else { ax - width };
                candidates.push((left, ay + if dy > 0.0 { 0.8 * label.size } else { -0.1 * label.size }));
            }
        }
        let place = self.best(candidates, label, None, 90.0)?;
        let space = Rectangle::of(label, place);
        let near = (x.clamp(space.left, space.right), if space.top > y { space.top } else { space.bottom });
        Some((place, near))
    }

    /// The candidate with the lowest cost, whose space is then taken. Later candidates cost up to `patience` more.
    fn best(
        &mut self,
        candidates: Vec<(f64, f64)>,
        label: &Label<'_>,
        owner: Option<usize>,
        patience: f64,
    ) -> Option<(f64, f64)> {
        let count = candidates.len().max(1) as f64;
        let costs = candidates.into_iter().enumerate().filter_map(|(i, place)| {
            self.cost(label, place, owner).map(|cost| (cost + patience * i as f64 / count, place))
        });
        let (_, place) = costs.min_by(|l, r| l.0.total_cmp(&r.0))?;
        self.names.push(Rectangle::of(label, place));
        Some(place)
    }

    /// The cost of a position: high near other series. None if the label would cover something or leave the frame.
    fn cost(&self, label: &Label<'_>, place: (f64, f64), owner: Option<usize>) -> Option<f64> {
        let space = Rectangle::of(label, place);
        let Frame { left, right, top, bottom } = self.frame;
        let inside = space.left >= left + 2.0
            && space.right <= right + 2.0
            && space.top >= top - 8.0
            && space.bottom <= bottom - 3.0;
        if !inside || self.names.iter().any(|name| name.overlaps(&space)) {
            return None;
        }
        let mut others = f64::INFINITY;
        for (who, sample) in &self.samples {
            let distance = space.distance(*sample);
            if distance < 2.5 {
                return None;
            }
            if Some(*who) != owner {
                others = others.min(distance);
            }
        }
        Some((40.0 - others).max(0.0))
    }
}
