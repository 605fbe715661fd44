//! Examples of leases.

use common::{
    DeviceName, Lease, LeaseAnswer, LeaseReason, LeasedAnswer, Open, Reason, RequestLease,
    RunningLease, Validation,
};

use super::{Example, ada, created, id, parsed};

/// A token as it looks, but for its length.
const TOKEN: &str = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.AAAA";

examples! {
    RequestLease {
        user_id: ada(), product_id: id("prd"), ttl_seconds: None, device: Some(DeviceName::from_static("desk")),
    }
    Lease {
        id: id("lea"),
        token: TOKEN.to_owned(),
        issued_at: created(),
        expires_at: parsed("2027-03-02T12:00:00.000Z"),
        renew_after: parsed("2027-02-15T12:00:00.000Z"),
    }
    RunningLease {
        id: id("asg"),
        user_id: id("usr"),
        external_id: ada(),
        license_id: id("lic"),
        device: Some(DeviceName::from_static("desk")),
        leased_until: parsed("2027-03-02T12:05:00.000Z"),
    }
}

/// The answer to a licensed user.
fn to_licensed(lease: Result<Lease, LeaseReason>) -> LeaseAnswer {
    let lease_reason = lease.as_ref().err().copied().map(Open::Known);
    match Validation::example() {
        Validation::Valid(validation) => {
            let (validation, lease) = (*validation, lease.ok());
            LeaseAnswer::Valid(Box::new(LeasedAnswer { validation, lease, lease_reason }))
        }
        Validation::Invalid(answer) => LeaseAnswer::Invalid(answer),
    }
}

impl Example for LeaseAnswer {
    fn example() -> Self {
        to_licensed(Ok(Lease::example()))
    }

    fn shapes() -> Vec<(&'static str, Self)> {
        let refused = match Validation::invalid(Reason::NoLicense) {
            Validation::Invalid(answer) => Self::Invalid(answer),
            Validation::Valid(_) => Self::example(),
        };
        vec![
            ("valid", Self::example()),
            ("without a lease", to_licensed(Err(LeaseReason::NotOffered))),
            ("invalid", refused),
        ]
    }
}
