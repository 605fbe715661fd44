//! Bodies, read as the server reads them: any bytes are a body, which is written and read back as
//! the same, or a refusal in one line. Nothing panics.

#![no_main]

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use common::{AssignLicense, CreateLicense, CreatePlan, UpdateLicense, Validate};
use libfuzzer_sys::fuzz_target;
use licd::error::Error;
use licd::http::extract::{Json, StrictBody};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

fn message(bytes: &[u8]) -> (Parts, Body) {
    let request = Request::post("/").header(CONTENT_TYPE, "application/json");
    let (parts, ()) = request.body(()).expect("a head").into_parts();
    (parts, Body::from(bytes.to_vec()))
}

fn lenient<T: DeserializeOwned>(bytes: &[u8]) -> Result<Json<T>, Error> {
    let (parts, body) = message(bytes);
    RUNTIME.block_on(Json::read(&parts, body))
}

fn strict<T: StrictBody>(bytes: &[u8]) -> Result<Json<T>, Error> {
    let (parts, body) = message(bytes);
    RUNTIME.block_on(Json::read_strict(&parts, body))
}

fn check<T: Serialize>(bytes: &[u8], read: fn(&[u8]) -> Result<Json<T>, Error>) {
    match read(bytes) {
        Ok(Json(body)) => {
            let json = serde_json::to_vec(&body).expect("JSON");
            let Ok(Json(again)) = read(&json) else { panic!("what was written is read") };
            assert_eq!(serde_json::to_vec(&again).expect("JSON"), json);
        }
        Err(error) => {
            let told = error.to_string();
            assert!(!told.is_empty() && !told.contains(char::is_control), "{told:?}");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    check::<Validate>(bytes, lenient);
    check::<CreateLicense>(bytes, strict);
    check::<CreatePlan>(bytes, strict);
    check::<UpdateLicense>(bytes, strict);
    check::<AssignLicense>(bytes, strict);
});
