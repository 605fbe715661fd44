//! Pages as their users meet them, in a real browser.

mod reference;
