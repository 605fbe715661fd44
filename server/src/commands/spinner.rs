//! A spinner for commands whose duration is unknown.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::time::Duration;

use indicatif::ProgressBar;
use tokio::time::sleep;

/// After this time a terminal shows a spinner.
const DELAY: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);

/// Shows a spinner with `doing` on a terminal if the work takes long.
pub async fn with_spinner<T>(doing: &'static str, work: impl Future<Output = T>) -> T {
    let spinner = ProgressBar::new_spinner();
    let spin = async {
        sleep(DELAY).await;
        spinner.set_message(doing);
        spinner.enable_steady_tick(INTERVAL);
        pending::<Infallible>().await
    };
    let done = tokio::select! {
        done = work => done,
        endless = spin => match endless {},
    };
    spinner.finish_and_clear();
    done
}
