//! A real browser that sees pages, follows links and fills in forms by their labels.
//!
//! Each step waits until it can be done, as people do: after a click, the next step may meet the old
//! page for a moment, so `sees` or `is_at` come before what only reads. A step that stays impossible
//! fails the test, and shows the page. So does whatever the console has to say after a step: a script
//! that failed, a breach of the Content-Security-Policy, a request to another host.

mod axe;
mod looks;
mod tests;
mod webdriver;

use std::cell::RefCell;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use self::webdriver::{Refused, Session};
use super::app::App;
use super::waiting::find;

/// Time in which a step must become possible, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Selectors of elements that can be clicked, and of those that can be filled in.
const CONTROLS: &str = "a[href], button, summary, input[type=submit], input[type=button], \
    input[type=checkbox], input[type=radio], [role=button]";
const FIELDS: &str = "input:not([type=hidden], [type=submit], [type=button], [type=checkbox], \
    [type=radio]), textarea, select";

/// The member in which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with a profile of its own.
pub struct Browser {
    session: Session,
    base: String,
    patience: Duration,
}

impl Browser {
    /// A test has one browser at a time, or tests would wait for each other's second one.
    pub async fn start(app: &App) -> Self {
        Self::at(&app.base).await
    }

    async fn at(base: &str) -> Self {
        let browser =
            Self { session: Session::start().await, base: base.to_owned(), patience: PATIENCE };
        browser.wide().await;
        browser
    }

    /// Opens a page, and waits until it has loaded.
    pub async fn open(&self, path: &str) {
        let url = format!("{}{path}", self.base);
        self.step(&format!("open {path}"), async || {
            self.navigate("url", json!({ "url": url })).await
        })
        .await;
    }

    /// Follows a link to a page from another site.
    pub async fn come_from_elsewhere(&self, path: &str) {
        let elsewhere = self.base.replace("127.0.0.1", "elsewhere.example");
        self.step("open a page elsewhere", async || {
            self.navigate("url", json!({ "url": format!("{elsewhere}/dashboard/sign-in") })).await
        })
        .await;
        self.script(&format!("location.href = '{}{path}'", self.base)).await;
    }

    /// Clicks the link, button or box with this name.
    pub async fn click(&self, name: &str) {
        self.click_in("", name).await;
    }

    /// Clicks a name that the page has several times: in the row, section or form that shows
    /// `place`.
    pub async fn click_in(&self, place: &str, name: &str) {
        self.step(&format!("click {name:?} {place}"), async || {
            let control = self.element(CONTROLS, name, place).await?;
            self.post(&format!("element/{control}/click"), json!({})).await
        })
        .await;
    }

    /// Types a text into the field with this label, in place of what is there.
    pub async fn fill(&self, label: &str, text: &str) {
        self.step(&format!("fill {label:?} with {text:?}"), async || {
            let field = self.element(FIELDS, label, "").await?;
            // How a date is typed depends on the language of the browser.
            let set = "const [field, text] = arguments;
                const isPicked = ['date', 'time', 'datetime-local'].includes(field.type);
                if (isPicked) field.value = text;
                return isPicked";
            if self.run(set, json!([{ ELEMENT: field }, text])).await? == true {
                return Ok(());
            }
            self.post(&format!("element/{field}/clear"), json!({})).await?;
            if !text.is_empty() {
                self.post(&format!("element/{field}/value"), json!({ "text": text })).await?;
            }
            Ok(())
        })
        .await;
    }

    /// Chooses an option, by its text, in the list with this label.
    pub async fn choose(&self, label: &str, option: &str) {
        self.step(&format!("choose {option:?} of {label:?}"), async || {
            let list = self.element(FIELDS, label, "").await?;
            let script =
                "return [...arguments[0].options].find(o => o.text.trim() === arguments[1])";
            let found = self.run(script, json!([{ ELEMENT: list }, option])).await?;
            let option = found[ELEMENT].as_str().ok_or("there is no such option")?;
            self.post(&format!("element/{option}/click"), json!({})).await
        })
        .await;
    }

    /// Presses a key, or several together: `Enter`, `Shift+Tab`, `/`.
    pub async fn press(&self, keys: &str) {
        let keys: Vec<String> = keys.split('+').map(key).collect();
        let down = keys.iter().map(|key| json!({ "type": "keyDown", "value": key }));
        let up = keys.iter().rev().map(|key| json!({ "type": "keyUp", "value": key }));
        let actions: Vec<Value> = down.chain(up).collect();
        let actions = json!([{ "type": "key", "id": "keyboard", "actions": actions }]);
        self.step(&format!("press {keys:?}"), async || {
            self.post("actions", json!({ "actions": actions })).await
        })
        .await;
    }

    pub async fn back(&self) {
        self.step("go back", async || self.navigate("back", json!({})).await).await;
    }

    pub async fn reload(&self) {
        self.step("reload", async || self.navigate("refresh", json!({})).await).await;
    }

    /// Waits until the page shows this text.
    pub async fn sees(&self, text: &str) {
        self.step(&format!("see {text:?}"), async || {
            let shown = self.shown().await?;
            if shown.contains(text) { Ok(()) } else { Err("the page does not show it".to_owned()) }
        })
        .await;
    }

    /// Waits until this address is shown: its path, and its query if there is one.
    pub async fn is_at(&self, path: &str) {
        self.step(&format!("be at {path}"), async || {
            let at = self.path().await;
            if at == path { Ok(()) } else { Err(format!("the page is {at}")) }
        })
        .await;
    }

    /// Waits until the link, button or field with this name has the focus.
    pub async fn has_focus(&self, name: &str) {
        self.step(&format!("have the focus on {name:?}"), async || {
            let elements = format!(":is({CONTROLS}, {FIELDS}):focus");
            self.element(&elements, name, "").await.map(drop)
        })
        .await;
    }

    /// Returns the value of the field with this label.
    pub async fn value(&self, label: &str) -> String {
        self.step(&format!("read {label:?}"), async || {
            let field = self.element(FIELDS, label, "").await?;
            self.run("return arguments[0].value", json!([{ ELEMENT: field }])).await.map(text_of)
        })
        .await
    }

    /// All text that is to be seen, as it is laid out.
    pub async fn text(&self) -> String {
        self.step("read the page", async || self.shown().await).await
    }

    /// The text of the one `h1`.
    pub async fn heading(&self) -> String {
        let script = "const all = document.querySelectorAll('h1');
            return all.length === 1 ? all[0].innerText : null";
        self.step("read the heading", async || {
            let heading = self.run(script, json!([])).await?;
            heading.as_str().map(str::to_owned).ok_or("there is not one h1".to_owned())
        })
        .await
    }

    pub async fn title(&self) -> String {
        text_of(self.session.get("title").await.unwrap())
    }

    /// The address that is shown, without the host.
    pub async fn path(&self) -> String {
        let url = text_of(self.session.get("url").await.unwrap());
        url.strip_prefix(&self.base).unwrap_or(&url).to_owned()
    }

    /// All cookies for the page, `HttpOnly` ones too, with `name`, `value`, `path`, `httpOnly`,
    /// `sameSite` and `secure`.
    pub async fn cookies(&self) -> Vec<Value> {
        self.session.get("cookie").await.unwrap().as_array().unwrap().clone()
    }

    pub async fn forget_cookies(&self) {
        self.session.delete("cookie").await.unwrap();
    }

    /// Returns the result of JavaScript in the page. The Content-Security-Policy does not apply to
    /// it.
    pub async fn script(&self, body: &str) -> Value {
        self.step("run a script", async || self.run(body, json!([])).await).await
    }
}

/// Steps of the browser.
impl Browser {
    /// Tries until it succeeds, and then looks into the console.
    async fn step<T>(&self, what: &str, attempt: impl AsyncFn() -> Result<T, String>) -> T {
        let last = RefCell::new(String::new());
        let tried = find(what, async || match attempt().await {
            Ok(done) => Some(done),
            Err(why) => {
                last.replace(why);
                None
            }
        });
        let Ok(done) = timeout(self.patience, tried).await else {
            let why = last.take();
            self.fail(&format!("cannot {what}: {why}")).await
        };
        let complaints = self.complaints().await;
        if !complaints.is_empty() {
            self.fail(&format!("{what}: the console says:\n{}", complaints.join("\n"))).await;
        }
        done
    }

    async fn fail(&self, what: &str) -> ! {
        let (path, shown) = (self.path().await, self.shown().await);
        let shown = shown.unwrap_or_else(|why| format!("nothing, as {why}"));
        panic!("{what}\n-- {path} shows:\n{shown}");
    }

    /// The id of the one element with this name.
    async fn element(&self, selector: &str, name: &str, place: &str) -> Result<String, String> {
        let told =
            self.run(include_str!("browser/find.js"), json!([selector, name, place])).await?;
        match told["found"].as_array().map(Vec::as_slice) {
            Some([one]) => Ok(one[ELEMENT].as_str().unwrap().to_owned()),
            Some([]) => Err(format!("there is none with this name, but {}", told["names"])),
            _ => Err("there are several with this name".to_owned()),
        }
    }

    async fn shown(&self) -> Result<String, String> {
        self.run("return document.body?.innerText ?? ''", json!([])).await.map(text_of)
    }

    async fn run(&self, script: &str, args: Value) -> Result<Value, String> {
        self.post("execute/sync", json!({ "script": script, "args": args })).await
    }

    /// A command that may be tried again: when it is refused, nothing has happened.
    async fn post(&self, command: &str, body: Value) -> Result<Value, String> {
        let transient = [
            "element click intercepted",
            "element not interactable",
            "invalid element state",
            "javascript error",
            "no such element",
            "stale element reference",
        ];
        match self.session.post(command, body).await {
            Ok(told) => Ok(told),
            Err(refused) if transient.contains(&&*refused.code) => Err(refused.message),
            Err(Refused { code, message }) => panic!("{command}: {code}: {message}"),
        }
    }

    /// A command that may be tried again, whatever came of it.
    async fn navigate(&self, command: &str, body: Value) -> Result<(), String> {
        let told = self.session.post(command, body).await;
        told.map(drop).map_err(|refused| refused.message)
    }

    /// Returns the messages of the console since the last call.
    async fn complaints(&self) -> Vec<String> {
        let log = self.session.post("se/log", json!({ "type": "browser" })).await.unwrap();
        let page = text_of(self.session.get("url").await.unwrap());
        let refused = " - Failed to load resource: the server responded with";
        let expected = [
            // The page says so itself, and tests look at it.
            format!("{page}{refused}"),
            // Browsers ask for it by themselves, where a document names no icon.
            format!("{}/favicon.ico{refused}", self.base),
        ];
        let entries = log.as_array().unwrap().iter();
        let entries =
            entries.filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        let messages = entries.map(|entry| entry["message"].as_str().unwrap());
        let complaints = messages
            .filter(|message| !expected.iter().any(|expected| message.starts_with(expected)));
        complaints.map(str::to_owned).collect()
    }
}

fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => panic!("no text: {other}"),
    }
}

/// A key as WebDriver names it.
fn key(name: &str) -> String {
    let key = match name {
        "Tab" => "\u{E004}",
        "Enter" => "\u{E007}",
        "Shift" => "\u{E008}",
        "Control" => "\u{E009}",
        "Escape" => "\u{E00C}",
        "Space" => " ",
        "ArrowUp" => "\u{E013}",
        "ArrowDown" => "\u{E015}",
        one if one.chars().count() == 1 => one,
        other => panic!("no key is named {other}"),
    };
    key.to_owned()
}
