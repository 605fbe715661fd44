//! Restarts background tasks that panic, so that a bug affects only their current work and not the
//! service.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::metrics::Metrics;

/// The delay before a restart, so that a task that panics immediately does not use up a core.
const RESTART_DELAY: Duration = Duration::from_millis(100);

/// Runs the future of `task`, and again after each panic, until it returns. Dropping this future
/// ends the task.
pub async fn supervise<F, T>(name: &'static str, metrics: Arc<Metrics>, task: F)
where
    F: Fn() -> T,
    T: Future<Output = ()> + Send + 'static,
{
    // A `JoinSet` aborts its tasks when it is dropped.
    let mut running = JoinSet::new();
    metrics.task_began(name, false);
    loop {
        running.spawn(task());
        match running.join_next().await {
            Some(Err(error)) if error.is_panic() => {
                tracing::error!(task = name, %error, "a background task panicked and is restarted");
                sleep(RESTART_DELAY).await;
                metrics.task_began(name, true);
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_started_again() {
        let starts = Arc::new(AtomicUsize::new(0));
        let counted = starts.clone();
        let metrics = Arc::<Metrics>::default();
        supervise("test", metrics.clone(), move || {
            let starts = counted.clone();
            async move { assert!(starts.fetch_add(1, Ordering::Relaxed) == 2, "not yet") }
        })
        .await;
        assert_eq!(starts.load(Ordering::Relaxed), 3);
        let text = metrics.text().unwrap();
        assert!(text.contains("licd_task_restarts_total{task=\"test\"} 2\n"), "{text}");
    }
}
