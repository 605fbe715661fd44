//! licctl, the terminal tool that administers licd. [`run`] is the whole program as a function of
//! arguments, environment and streams; it returns the exit code.

mod args;
mod bulk;
mod client;
mod commands;
mod context;
mod error;
mod escape;
mod noun;
mod output;
mod profile;
mod terminal;

use std::ffi::OsString;
use std::pin::pin;
use std::rc::Rc;

use context::Context;
use error::{Error, Exit, Result};
use escape::quote;
use output::{Messages, View};
use terminal::Io;
pub use terminal::{Env, Streams, Terminals};

/// The definition of all commands and flags, for documentation and completeness checks.
pub fn grammar() -> clap::Command {
    args::grammar()
}

/// Runs one command line, beginning with the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>, env: Env, streams: Streams) -> u8 {
    let io = Io::new(streams);
    let args: Vec<OsString> = args.into_iter().collect();
    let (topics, columns) = (args::help::topics, commands::columns_of);
    let definitions = args::completion::Definitions { grammar, topics, columns };
    if let Some(answer) = args::completion::respond(&env, &args, definitions) {
        let written = answer.and_then(|lines| io.data(&lines));
        return written.map_or_else(|error| error.exit, |()| Exit::Success).code();
    }
    let mut cli = match args::parse(&args) {
        Ok(cli) => cli,
        Err(error) => return args::mistakes::show(&io, &env, &args, error).code(),
    };
    // Both send no write; they differ in how they show it.
    cli.globals.dry_run |= cli.globals.print_curl;
    io.color.set(cli.globals.colors(&env, io.terminals.stderr));
    let output = env.refuse_invisible();
    let output = output.and_then(|()| cli.globals.output_options(&env, io.terminals.stdout));
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            let messages = Messages::new(Rc::new(io), args::wants_json(&env, &args));
            messages.end(Some(&error), None);
            return error.exit.code();
        }
    };
    let words = args.iter().map(|word| quote(&word.to_string_lossy()).into_owned());
    let words = std::iter::once("licctl".to_owned()).chain(words.skip(1)).collect();
    let ctx = Context::new(io, env, cli.globals, output, words);
    let ended = drive(&ctx, cli.command).and_then(|view| finish(&ctx, &view));
    ctx.messages.end(ended.as_ref().err(), ctx.destination().as_ref());
    // What was entered at prompts need not be entered again.
    if ended.as_ref().is_err_and(|error| error.exit != Exit::Cancelled)
        && let Some(command) = ctx.prompts.without()
    {
        ctx.io.say(&format!("Command: {command}\n"));
    }
    ended.unwrap_or_else(|error| error.exit).code()
}

/// Runs the command; Ctrl-C ends it wherever it waits, and so does SIGTERM where it is caught.
fn drive(ctx: &Context, command: args::Commands) -> Result<View> {
    // It is installed once per process; a second attempt fails harmlessly.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::internal)?;
    let ended = runtime.block_on(async {
        let mut running = pin!(args::run(ctx, command));
        loop {
            tokio::select! {
                // Polled first, so that the handler is installed before a prompt hides the cursor.
                biased;
                Ok(()) = tokio::signal::ctrl_c() => {}
                () = ctx.interruption.terminated() => {}
                ended = &mut running => return ended,
            }
            if !ctx.interruption.note() {
                if ctx.interruption.is_usual() {
                    return Ok(View::printed().exit(Exit::Cancelled));
                }
                return Err(Error::interrupted());
            }
            ctx.wait_display.say(
                "note: finishing the requests in flight; press Ctrl-C again to stop immediately",
            );
        }
    });
    // A thread that still reads stdin or waits for the keyring must not keep the process.
    runtime.shutdown_background();
    ended
}

fn finish(ctx: &Context, view: &View) -> Result<Exit> {
    let (reads, writes): (Vec<_>, Vec<_>) = ctx.planned().into_iter().partition(|it| it.sent);
    let planned = if ctx.output.curl && writes.is_empty() { reads } else { writes };
    if planned.is_empty() {
        view.show(&ctx.io, &ctx.output)?;
    } else {
        output::show_planned(&ctx.io, &ctx.output, &planned)?;
    }
    if let Some(command) = ctx.prompts.without() {
        ctx.io.say(&format!("Without prompts: {command}\n"));
    }
    Ok(view.exit)
}
