//! Examples of keys: those of the API, those that users type, and those that sign.

use common::{
    CreateKey, CreateLicenseKey, CreatedKey, CreatedLicenseKey, CurrentKey, FindLicenseKey, Jwk,
    Key, LicenseKey, Mode, Name, Open, RevokeKey, Role, RollKey, RotateSigningKeys, SigningKey,
    SigningKeyState, SigningKeys, Status, Tenant,
};

use super::{Example, KEY, LICENSE_KEY, checked, created, id, parsed};

/// The key of RFC 7515, appendix A.3.
fn jwk() -> Jwk {
    let text = |text: &str| text.to_owned();
    Jwk {
        kty: text("EC"),
        crv: text("P-256"),
        x: text("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
        y: text("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"),
        kid: text("oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U"),
        usage: text("sig"),
        alg: text("ES256"),
    }
}

examples! {
    CreateKey { name: Name::from_static("CI"), role: Role::Read, mode: Some(Mode::Test), expires_at: None, }
    RevokeKey { made: Some(true), }
    RollKey { overlap_seconds: Some(parsed("3600")), }
    CreateLicenseKey { key: None, max_uses: Some(parsed("1")), expires_at: None, allow_short: None, }
    FindLicenseKey { key: parsed(LICENSE_KEY), }
    Key {
        id: id("key"),
        name: Name::from_static("CI"),
        prefix: KEY[..12].to_owned(),
        role: Role::Read,
        mode: Mode::Test,
        created_at: created(),
        expires_at: None,
        last_used_at: Some(checked()),
        revoked_at: None,
        created_by: Some(id("key")),
    }
    CreatedKey { record: Key { last_used_at: None, ..Key::example() }, key: parsed(KEY), }
    CurrentKey {
        id: id("key"),
        name: Name::from_static("CI"),
        prefix: KEY[..12].to_owned(),
        role: Role::Read,
        mode: Mode::Test,
        created_at: created(),
        expires_at: None,
        tenant: Tenant { id: id("ten"), name: Name::from_static("default") },
    }
    LicenseKey {
        id: id("lky"),
        license_id: id("lic"),
        suffix: Some("67J8KX".to_owned()),
        uses_limit: Some(1),
        license_status: Open::Known(Status::Active),
        max_uses: Some(parsed("1")),
        uses: 0,
        created_at: created(),
        expires_at: None,
        revoked_at: None,
    }
    CreatedLicenseKey { record: LicenseKey::example(), key: parsed(LICENSE_KEY), }
    SigningKey {
        id: id("sig"),
        state: SigningKeyState::Active,
        created_at: created(),
        retired_at: None,
        jwk: jwk(),
    }
    SigningKeys {
        active: SigningKey::example(),
        standby: SigningKey { state: SigningKeyState::Standby, ..SigningKey::example() },
    }
    RotateSigningKeys { standby: Some(id("sig")), abandon: None, }
}
