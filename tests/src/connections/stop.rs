//! The stop: connections that only wait do not hold it up.

use std::time::{Duration, Instant};

use super::wire::Wire;
use crate::harness::App;

#[tokio::test]
async fn half_a_head_does_not_hold_up_the_stop() {
    let app = App::start().await;
    let silent = Wire::connect(&app.base).await;
    let mut idle = Wire::connect(&app.base).await;
    idle.get("/healthz").await;
    assert_eq!(idle.answer().await.status, 200);
    let mut half = Wire::connect(&app.base).await;
    half.send("GET /healthz HTTP/1.1\r\nhost: li").await;
    // A response on a later connection shows that the half head was read.
    let mut later = Wire::connect(&app.base).await;
    later.get("/healthz").await;
    assert_eq!(later.answer().await.status, 200);
    let begun = Instant::now();
    app.stop().await;
    // Requests in flight would have 20 seconds.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    for mut wire in [silent, idle, half, later] {
        assert_eq!(wire.read_to_end().await, "");
    }
}
