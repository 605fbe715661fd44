//! Rebuilds when a migration changes, because the compiler does not track these files.

fn main() {
    println!("cargo:rerun-if-changed=../migrations");
}
