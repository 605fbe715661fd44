//! Bodies, read as the server reads them: any bytes are a body, which is written and read back as
//! the same, or a refusal in one line. Nothing panics.

#![no_main]

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::Request;
use axum::http::header::CONTENT_TYPE;
use common::{AssignLicense, CreateLicense, CreatePlan, UpdateLicense, Validate};
use libfuzzer_sys::fuzz_target;
use licd::http::extract::{BODY, BodyLimit, Json, VALIDATION_BODY};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

fn read<T: DeserializeOwned>(bytes: &[u8], limit: &'static BodyLimit) -> Result<T, String> {
    let request = Request::post("/").header(CONTENT_TYPE, "application/json");
    let (parts, ()) = request.body(()).expect("a head").into_parts();
    let body = Body::from(bytes.to_vec());
    let read = RUNTIME.block_on(Json::read(&parts, body, limit, &[]));
    read.map(|Json(body)| body).map_err(|error| error.sentence())
}

fn check<T: DeserializeOwned + Serialize>(bytes: &[u8], limit: &'static BodyLimit) {
    match read::<T>(bytes, limit) {
        Ok(body) => {
            let json = serde_json::to_vec(&body).expect("JSON");
            let again: T = read(&json, &BODY).expect("what was written is read");
            assert_eq!(serde_json::to_vec(&again).expect("JSON"), json);
        }
        Err(told) => assert!(!told.is_empty() && !told.contains(char::is_control), "{told:?}"),
    }
}

fuzz_target!(|bytes: &[u8]| {
    check::<Validate>(bytes, &VALIDATION_BODY);
    check::<CreateLicense>(bytes, &BODY);
    check::<CreatePlan>(bytes, &BODY);
    check::<UpdateLicense>(bytes, &BODY);
    check::<AssignLicense>(bytes, &BODY);
});
