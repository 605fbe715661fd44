//! Profiles, the named servers in `config.toml`. The file holds no secret: [`crate::keystore`] stores
//! the keys.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use common::Name;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use url::Url;

use crate::env::Env;
use crate::error::{Error, Exit, Result};
use crate::keystore::Keyring;

/// The profile that `login` writes when none is named.
pub const DEFAULT_PROFILE: &str = "default";

/// The folder of the configuration and the cache.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The folder of files that can be rebuilt.
    cache: PathBuf,
    /// Whether the environment names the folder. It then holds the keys too, instead of the
    /// system's keyring, so that it can be moved, mounted and deleted as one.
    pub self_contained: bool,
    /// The keyring for the keys of every other folder.
    pub keyring: Keyring,
}

impl Folder {
    pub fn locate(env: &Env) -> Result<Self> {
        if let Some(path) = env.config_dir() {
            let cache = path.join("cache");
            return Ok(Self { path, cache, self_contained: true, keyring: Keyring::default() });
        }
        let usual = directories::ProjectDirs::from("", "", "licctl").ok_or_else(|| {
            Error::new(Exit::Usage, "no_home", "There is no home folder for the profiles.")
                .fix("set LICCTL_CONFIG_DIR to a folder of your own")
        })?;
        let (path, cache) = (usual.config_dir().to_owned(), usual.cache_dir().to_owned());
        Ok(Self { path, cache, self_contained: false, keyring: Keyring::default() })
    }

    /// A folder anywhere, with a keyring of its own.
    #[cfg(test)]
    pub fn at(path: &Path, keyring: Keyring) -> Self {
        let (path, cache) = (path.to_owned(), path.join("cache"));
        Self { path, cache, self_contained: false, keyring }
    }

    /// The cache folder.
    pub fn cache(self) -> Self {
        Self { path: self.cache.clone(), ..self }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads a TOML file; a missing file is empty.
    pub fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T> {
        let path = self.file(name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(T::default()),
            Err(error) => return Err(unreadable(&path, &error.to_string())),
        };
        // The parser's own message would quote the line, and with it a key.
        toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].lines().count().max(1));
            let line = line.map_or_else(String::new, |line| format!("line {line}: "));
            unreadable(&path, &format!("{line}{}", error.message()))
        })
    }

    /// Replaces a file as a whole, readable by its owner only.
    pub fn write(&self, name: &str, content: &impl Serialize) -> Result<()> {
        let path = self.file(name);
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(Exit::Internal, "config", format!("{} cannot be written.", path.display()))
                .because(error.to_string())
        };
        let text = toml::to_string(content).map_err(|error| failed(&error))?;
        create_private(&self.path).map_err(|error| failed(&error))?;
        // A temporary file has mode 0600, and replaces the old file in one step.
        let mut file = tempfile::NamedTempFile::new_in(&self.path).map_err(|e| failed(&e))?;
        file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
        file.persist(&path).map_err(|error| failed(&error))?;
        Ok(())
    }
}

fn unreadable(path: &Path, why: &str) -> Error {
    Error::new(Exit::Usage, "config", format!("{} cannot be read.", path.display())).because(why)
}

fn create_private(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// The content of `config.toml`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Config {
    /// The profile in use when no other is named.
    pub current: Option<String>,
    #[serde(default)]
    pub profiles: BTreeMap<String, Profile>,
}

/// A server, and where the key for it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Profile {
    pub server: Url,
    pub key: Option<KeyPlace>,
}

/// Where a profile's key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyPlace {
    Keyring,
    File,
}

/// A name for a profile: a line of text, as it is typed and shown.
pub fn profile_name(text: &str) -> Result<String> {
    let name = text.parse::<Name>();
    name.map(|name| name.to_string())
        .map_err(|error| Error::usage(format!("The profile name {error}.")))
}

impl Config {
    const FILE: &str = "config.toml";

    pub fn load(folder: &Folder) -> Result<Self> {
        folder.read(Self::FILE)
    }

    pub fn save(&self, folder: &Folder) -> Result<()> {
        folder.write(Self::FILE, self)
    }

    /// The profile of this name, or an error that lists the existing ones.
    pub fn get(&self, name: &str) -> Result<&Profile> {
        self.profiles.get(name).ok_or_else(|| {
            let known = self.profiles.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let error = Error::not_found(format!("There is no profile {name}."));
            if known.is_empty() {
                error.fix(format!("licctl login --profile {name}"))
            } else {
                error.because(format!("Existing profiles: {known}")).fix("licctl profiles list")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::at(&dir.path().join("deep/licctl"), Keyring::default());
        (dir, folder)
    }

    #[test]
    fn profiles_come_back_as_they_were_saved() {
        let (_dir, folder) = folder();
        assert!(Config::load(&folder).unwrap().profiles.is_empty());
        let server = "https://licenses.example/".parse().unwrap();
        let mut config = Config { current: Some("acme".into()), ..Config::default() };
        config.profiles.insert("acme".into(), Profile { server, key: Some(KeyPlace::File) });
        config.save(&folder).unwrap();
        insta::assert_snapshot!(fs::read_to_string(folder.file(Config::FILE)).unwrap(), @r#"
        current = "acme"

        [profiles.acme]
        server = "https://licenses.example/"
        key = "file"
        "#);
        assert_eq!(Config::load(&folder).unwrap().get("acme").unwrap().key, Some(KeyPlace::File));
    }

    #[test]
    fn a_broken_file_is_named_with_its_line_and_not_quoted() {
        let (_dir, folder) = folder();
        create_private(&folder.path).unwrap();
        fs::write(folder.file(Config::FILE), "current = \"a\"\nkey = sk_live_SECRET\n").unwrap();
        let error = Config::load(&folder).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        let text = error.text(None);
        assert!(text.contains("config.toml") && text.contains("line 2"), "{text}");
        assert!(!text.contains("SECRET"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn files_are_readable_by_their_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let (_dir, folder) = folder();
        Config::default().save(&folder).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder.file(Config::FILE)), 0o600);
        assert_eq!(mode(&folder.path), 0o700);
    }
}
