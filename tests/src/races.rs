//! Many callers at once: seats are exact, users are made once, nothing fails, and what the service
//! counts is what the database holds. Several nodes on one database are in `nodes`.

mod deletion;
mod keys;
mod order;
mod seats;
mod storm;
mod users;

use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::harness::App;

/// Lets all of them begin at the same moment, and waits for what each has to say.
pub async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    callers: impl IntoIterator<Item = F>,
) -> Vec<T> {
    let callers: Vec<F> = callers.into_iter().collect();
    let start = Arc::new(Barrier::new(callers.len()));
    let mut racing = JoinSet::new();
    for caller in callers {
        let start = start.clone();
        racing.spawn(async move {
            start.wait().await;
            caller.await
        });
    }
    racing.join_all().await
}

/// What must hold at every moment, read from the database past all of licd's code: each counter is
/// the number of activations.
async fn check_books(app: &App) {
    let wrong = "select count(*) from licenses l where l.seats_used <> (
        select count(activation_id) from assignments s where s.license_id = l.id)";
    assert_eq!(app.number(wrong).await, 0, "a counter is not the number of activations");
}
