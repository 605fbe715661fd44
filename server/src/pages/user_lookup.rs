//! The question about unknown users that were typed into a form.

use common::{ExternalId, User};

use super::Question;
use super::question::{Link, Point};

/// Lists unknown users, each with similar users that exist.
pub fn ask_about<'a>(
    unknown: impl IntoIterator<Item = (&'a ExternalId, Vec<&'a User>)>,
    back: String,
) -> Question {
    let points: Vec<Point> = unknown.into_iter().map(|(id, similar)| point(id, &similar)).collect();
    let title = match points.len() {
        1 => "Create a new user?".to_owned(),
        many => format!("Create {many} new users?"),
    };
    let sentence = "No user has this ID yet. It must be exactly what your application sends; IDs \
        are case-sensitive.";
    let mut question = Question::new(title, sentence, back);
    question.points = points;
    question
}

fn point(id: &ExternalId, similar: &[&User]) -> Point {
    let text = if similar.is_empty() { id.to_string() } else { format!("{id}: did you mean") };
    let link = |user: &&User| {
        let name = user.name.iter().map(ToString::to_string);
        let called: Vec<_> = name.chain(user.email.iter().map(ToString::to_string)).collect();
        let id = &user.external_id;
        let text = match called.as_slice() {
            [] => id.to_string(),
            called => format!("{id} ({})", called.join(", ")),
        };
        Link { path: format!("/users/{}", user.id), text }
    };
    Point { text, links: similar.iter().map(link).collect() }
}
