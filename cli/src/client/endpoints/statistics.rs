//! The endpoints of statistics.

use common::{MonthStatistics, PlanStatistics, Statistics, Timestamp};

use crate::client::{ApiRecord, Client, Query};
use crate::error::Result;

impl Client {
    pub async fn plan_statistics(&self, query: Query) -> Result<ApiRecord<PlanStatistics>> {
        self.get(&query.on("/api/v1/admin/statistics/plans")).await
    }

    pub async fn month_statistics(&self, query: Query) -> Result<ApiRecord<MonthStatistics>> {
        self.get(&query.on("/api/v1/admin/statistics/months")).await
    }

    /// Reads the outcomes of validations by hour.
    pub async fn statistics(&self, from: Timestamp) -> Result<ApiRecord<Statistics>> {
        self.get(&Query::of("from", from).on("/api/v1/admin/statistics")).await
    }
}
