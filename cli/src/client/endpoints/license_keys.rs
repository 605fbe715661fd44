//! The endpoints of license keys, of which some have the path of their license.

use std::fmt::Display;

use common::{
    CreateLicenseKey, CreatedLicenseKey, FindLicenseKey, LicenseId, LicenseKey, LicenseKeyId,
};
use futures_util::stream::Stream;

use super::{Done, NO_BODY, Records, sized};
use crate::client::{ApiRecord, Client, License, Query, Repeat};
use crate::error::Result;

impl<'c> Records<'c, License> {
    /// The keys of a license, page by page, with at most `limit` records.
    pub fn keys(
        self,
        id: LicenseId,
        limit: Option<usize>,
    ) -> impl Stream<Item = Result<Vec<ApiRecord<LicenseKey>>>> + use<'c> {
        let path = format!("{}/keys", Self::path(id));
        self.client.pages(sized(Query::default(), limit).on(&path), None, &[])
    }

    pub async fn create_key(
        self,
        id: impl Display,
        body: &CreateLicenseKey,
    ) -> Done<CreatedLicenseKey> {
        self.client.post(&format!("{}/keys", Self::path(id)), Some(body), Repeat::Unsafe).await
    }
}

impl Records<'_, LicenseKey> {
    pub async fn reissue(self, id: LicenseKeyId) -> Done<CreatedLicenseKey> {
        self.client.post(&format!("{}/reissue", Self::path(id)), NO_BODY, Repeat::Unsafe).await
    }

    pub async fn revoke(self, id: LicenseKeyId) -> Done<LicenseKey> {
        self.client.post(&format!("{}/revoke", Self::path(id)), NO_BODY, Repeat::Safe).await
    }
}

impl Client {
    pub async fn find_license_key(&self, body: &FindLicenseKey) -> Result<ApiRecord<LicenseKey>> {
        self.ask("/api/v1/admin/license-keys/find", body).await
    }
}
