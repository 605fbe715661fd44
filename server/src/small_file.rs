//! Reads small files that an operator names, such as secrets and certificates.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use zeroize::Zeroizing;

/// The largest allowed size, which is far more than such a file needs.
const MAX_SIZE: u64 = 64 * 1024;

/// Reads a whole file, which may be a secret. Does not wait for the writer of a pipe.
pub fn read(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let no_wait = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(no_wait).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(io::Error::other("it is larger than 64 KiB"));
    }
    Ok(bytes)
}
