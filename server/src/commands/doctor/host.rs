//! This machine: the limit on open files, and the files of an SQLite database and their disk.

use std::path::Path;

use licd::db::DatabaseUrl;
use rustix::fs::{statfs, statvfs};
use rustix::process::{Resource, getrlimit};
use tokio::task::spawn_blocking;

use super::finding::{Finding, in_time};

/// The most connections that licd serves at the same time, those to the receivers of webhooks, and
/// what else it needs.
const OPEN_FILES: u64 = 9280;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

pub fn open_files() -> Finding {
    judge_limit(getrlimit(Resource::Nofile).maximum)
}

/// licd raises its limit to the maximum itself.
fn judge_limit(maximum: Option<u64>) -> Finding {
    match maximum {
        Some(limit) if limit < OPEN_FILES => Finding::warning(
            "open files",
            format!("at most {limit} may be open; {OPEN_FILES} are enough for all connections"),
        )
        .fix(format!(
            "LimitNOFILE={OPEN_FILES} in systemd, or ulimit -Hn in the shell that starts licd"
        )),
        Some(limit) => Finding::ok("open files", format!("up to {limit} may be open")),
        None => Finding::ok("open files", "there is no limit"),
    }
}

/// Whether other users can read the files, and whether these can grow. A hanging disk blocks
/// neither check.
pub async fn files(url: DatabaseUrl, is_allowed: bool) -> Vec<Finding> {
    let looking = async {
        let looked = spawn_blocking(move || {
            let mut findings = permissions(&url, is_allowed);
            if let DatabaseUrl::Sqlite(path) = &url {
                findings.push(disk(path));
                findings.extend([file_system(path), log(path)].into_iter().flatten());
            }
            findings
        });
        looked.await.map_err(|error| Finding::problem("files", error.to_string()))
    };
    in_time("files", looking).await.unwrap_or_else(|finding| vec![finding])
}

fn permissions(url: &DatabaseUrl, is_allowed: bool) -> Vec<Finding> {
    let problems = url.permission_problems();
    if problems.is_empty() {
        return vec![Finding::ok("files", "no other user can read or change the database")];
    }
    let exposed = problems.into_iter().map(|problem| {
        let detail = problem.what;
        let finding = if is_allowed {
            Finding::warning("files", format!("{detail}, which is allowed"))
        } else {
            Finding::problem("files", format!("{detail}, so that licd does not start"))
        };
        finding.fix(problem.fix)
    });
    exposed.collect()
}

/// The folder of the file, or the one in which it will be created.
fn folder(path: &Path) -> &Path {
    let exists = |folder: &&Path| folder.exists();
    path.ancestors().skip(1).find(exists).unwrap_or(Path::new("."))
}

fn disk(path: &Path) -> Finding {
    let folder = folder(path);
    match statvfs(folder) {
        Ok(disk) => judge_space(disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize),
        Err(error) => {
            Finding::problem("disk space", format!("cannot look at {}: {error}", folder.display()))
        }
    }
}

/// A file system of the network or of another program, on which SQLite's locks may not work.
fn file_system(path: &Path) -> Option<Finding> {
    let kind = match statfs(folder(path)).ok()?.f_type as u32 {
        0x6969 => "NFS",
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => "SMB",
        0x6573_5546 => "FUSE",
        0x0102_1997 => "9p",
        _ => return None,
    };
    let detail = format!("the file is on {kind}, where two programs could damage it");
    Some(Finding::problem("file system", detail).fix("move the database to a local disk"))
}

/// Checks SQLite's write-ahead log, which grows while a process reads for a long time.
fn log(path: &Path) -> Option<Finding> {
    const LARGE: u64 = 500_000_000;
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let size = Path::new(&log).metadata().ok()?.len();
    let detail = format!("the write-ahead log has {} MB", size / 1_000_000);
    let fix = "end the program that reads the database for a long time (fuser FILE)";
    (size >= LARGE).then(|| Finding::warning("log", detail).fix(fix))
}

/// Sizes are in bytes.
fn judge_space(free: u64, total: u64) -> Finding {
    let percent = u128::from(free) * 100 / u128::from(total.max(1));
    let detail = format!("{} MiB are free, {percent} %", free / MIB);
    let fix = "make room, or move the database to a larger disk";
    match free {
        free if free < 100 * MIB => Finding::problem("disk space", detail).fix(fix),
        free if free < GIB || percent < 5 => Finding::warning("disk space", detail).fix(fix),
        _ => Finding::ok("disk space", detail),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::FindingState;
    use super::*;

    #[test]
    fn little_space_is_noticed() {
        for (free, total, state) in [
            (0, 0, FindingState::Problem),
            (100 * MIB - 1, GIB, FindingState::Problem),
            (100 * MIB, GIB, FindingState::Warning),
            (GIB - 1, 2 * GIB, FindingState::Warning),
            (GIB, 20 * GIB, FindingState::Ok),
            (GIB, 21 * GIB, FindingState::Warning),
            (50 * GIB, 100 * GIB, FindingState::Ok),
        ] {
            assert_eq!(judge_space(free, total).state, state, "{free} of {total}");
        }
    }

    #[test]
    fn a_low_limit_on_open_files_is_noticed() {
        assert_eq!(judge_limit(Some(OPEN_FILES - 1)).state, FindingState::Warning);
        assert_eq!(judge_limit(Some(OPEN_FILES)).state, FindingState::Ok);
        assert_eq!(judge_limit(None).state, FindingState::Ok);
    }
}
