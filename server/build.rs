//! Builds anew when a migration changes, which the compiler cannot know of.

fn main() {
    println!("cargo:rerun-if-changed=../migrations");
}
