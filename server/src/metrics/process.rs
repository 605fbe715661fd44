//! The process as Linux shows it, under the standard names. Elsewhere, unknown values are 0.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use common::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

pub struct Process {
    cpu_seconds: Counter<f64, AtomicU64>,
    resident_memory: Gauge,
    open_files: Gauge,
    max_files: Gauge,
}

impl Process {
    pub fn register(registry: &mut Registry) -> Self {
        let process = Self {
            cpu_seconds: Counter::default(),
            resident_memory: Gauge::default(),
            open_files: Gauge::default(),
            max_files: Gauge::default(),
        };
        let start: Gauge = Gauge::default();
        start.set((Timestamp::now().millis() / 1000) as i64);
        let Self { cpu_seconds, resident_memory, open_files, max_files } = &process;
        registry.register("process_start_time_seconds", "When the process began", start);
        registry.register("process_cpu_seconds", "CPU time of the process", cpu_seconds.clone());
        registry.register(
            "process_resident_memory_bytes",
            "Memory of the process that is in RAM",
            resident_memory.clone(),
        );
        registry.register(
            "process_open_fds",
            "Files and connections that are open",
            open_files.clone(),
        );
        registry.register("process_max_fds", "How many may be open", max_files.clone());
        process
    }

    /// Updates all of them.
    pub fn read(&self) {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let cpu = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        // This counter stores the bits of its value.
        self.cpu_seconds.inner().store(cpu.to_bits(), Ordering::Relaxed);
        self.resident_memory.set(resident_memory().unwrap_or_default());
        let files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        self.open_files.set(files as i64);
        let max_files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        self.max_files.set(i64::try_from(max_files).unwrap_or(i64::MAX));
    }
}

/// In bytes.
fn resident_memory() -> Option<i64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    kib.trim().trim_end_matches(" kB").parse::<i64>().ok().map(|kib| kib * 1024)
}
