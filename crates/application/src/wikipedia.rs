//! Wikipedia: readers and editors of pages (`OLTP-Bench`, Difallah, Pavlo, Curino and Cudré-Mauroux, VLDB 2014).
//!
//! | transaction | share | effect |
//! |---|---|---|
//! | `AddWatchList` | 1 | a user watches a page |
//! | `RemoveWatchList` | 1 | a user stops to watch a page |
//! | `UpdatePage` | 7 | a user, or nobody in particular, edits a page: text, revision, page, recent changes, log; those who watch the page are notified |
//! | `GetPageAnonymous` | 90 | the newest text of a page |
//! | `GetPageAuthenticated` | 1 | the same for a user |
//!
//! `UpdatePage` is one transaction here. `OLTP-Bench` commits in the middle of it, before it notifies the watchers; the rules
//! below would then be violated between two commits.
//!
//! Rules of every serializable execution: the edits of a user are as many as the user's revisions, recent changes and entries
//! of the log; the revisions of a page are a chain that ends with its newest one. A lost update breaks both.

use isoscope_workload::Dice;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::application::{
    Application, Books, Call, Hotspot, SpecError, Tables, check_weights, draw_weighted,
};
use crate::field::{Field, size};
use crate::operations::{Operations, Stopped};
use crate::schema::{Column, Contents, Index, Table};
use crate::select::Select;

/// The maximum number of pages and users.
const MOST: u32 = 100_000;
/// The namespace of articles.
const ARTICLES: i64 = 0;
/// The user that stands for all who are not logged in.
const NOBODY: i64 = 0;

const INT: &str = "BIGINT NOT NULL";

static PAGE: Table = Table {
    name: "isoscope_page",
    columns: &[
        Column::constant("page_id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("page_namespace", INT),
        Column::constant("page_title", "VARCHAR(64) NOT NULL"),
        Column::changing("page_latest", INT),
        Column::changing("page_touched", INT),
        Column::changing("page_len", INT),
    ],
    key: &["page_id"],
    indexes: &[Index { name: "title", columns: &["page_namespace", "page_title"] }],
    is_fixed: true,
};

static USER: Table = Table {
    name: "isoscope_user",
    columns: &[
        Column::constant("user_id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("user_name", "VARCHAR(64) NOT NULL"),
        Column::changing("user_editcount", INT),
        Column::changing("user_touched", INT),
    ],
    key: &["user_id"],
    indexes: &[],
    is_fixed: true,
};

static REVISION: Table = Table {
    name: "isoscope_revision",
    columns: &[
        Column::constant("rev_id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("rev_page", INT),
        Column::constant("rev_text_id", INT),
        Column::constant("rev_user", INT),
        Column::constant("rev_comment", "VARCHAR(255) NOT NULL"),
        Column::constant("rev_parent_id", INT),
    ],
    key: &["rev_id"],
    indexes: &[],
    is_fixed: false,
};

static TEXT: Table = Table {
    name: "isoscope_text",
    columns: &[
        Column::constant("old_id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("old_text", "TEXT NOT NULL"),
    ],
    key: &["old_id"],
    indexes: &[],
    is_fixed: false,
};

static WATCHLIST: Table = Table {
    name: "isoscope_watchlist",
    columns: &[
        Column::constant("wl_user", INT),
        Column::constant("wl_namespace", INT),
        Column::constant("wl_title", "VARCHAR(64) NOT NULL"),
        Column::changing("wl_notificationtimestamp", "BIGINT"),
    ],
    key: &["wl_user", "wl_namespace", "wl_title"],
    indexes: &[Index { name: "page", columns: &["wl_namespace", "wl_title", "wl_user"] }],
    is_fixed: false,
};

static RECENT_CHANGES: Table = Table {
    name: "isoscope_recentchanges",
    columns: &[
        Column::constant("rc_id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("rc_user", INT),
        Column::constant("rc_page", INT),
        Column::constant("rc_this_oldid", INT),
        Column::constant("rc_last_oldid", INT),
    ],
    key: &["rc_id"],
    indexes: &[],
    is_fixed: false,
};

static LOGGING: Table = Table {
    name: "isoscope_logging",
    columns: &[
        Column::constant("log_id", "BIGINT NOT NULL PRIMARY KEY"),
        Column::constant("log_user", INT),
        Column::constant("log_page", INT),
        Column::constant("log_comment", "VARCHAR(255) NOT NULL"),
    ],
    key: &["log_id"],
    indexes: &[],
    is_fixed: false,
};

/// The parameters of an encyclopedia.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WikipediaSpec {
    /// The number of pages.
    pub pages: u32,
    /// The number of users.
    pub users: u32,
    /// The revisions that each page has before the run, at least 1.
    pub revisions: u32,
    /// The pages that transactions access: the first ones.
    pub active_pages: u32,
    /// The users that transactions act for: the first ones, and nobody.
    pub active_users: u32,
    /// The weights of `AddWatchList`, `RemoveWatchList`, `UpdatePage`, `GetPageAnonymous` and `GetPageAuthenticated`.
    pub mix: [u32; 5],
    /// Which pages are accessed more often.
    pub hotspot: Hotspot,
}

impl Default for WikipediaSpec {
    fn default() -> WikipediaSpec {
        WikipediaSpec {
            pages: 30,
            users: 30,
            revisions: 3,
            active_pages: 30,
            active_users: 30,
            mix: [1, 1, 7, 90, 1],
            hotspot: Hotspot::default(),
        }
    }
}

impl WikipediaSpec {
    /// The size of the experiments with `IsoPredict` (PLDI 2024): all transactions access one page, for one user or nobody.
    pub fn paper() -> WikipediaSpec {
        WikipediaSpec { pages: 2, users: 2, active_pages: 1, active_users: 1, ..WikipediaSpec::default() }
    }
}

/// The application; see the module.
#[derive(Debug)]
pub struct Wikipedia {
    spec: WikipediaSpec,
}

/// A page: its number and its title.
type Page = (i64, Field);

impl Wikipedia {
    /// Checks the parameters and creates the encyclopedia.
    pub fn new(spec: WikipediaSpec) -> Result<Wikipedia, SpecError> {
        let numbers = [spec.pages, spec.users, spec.revisions, spec.active_pages, spec.active_users];
        let is_small = numbers.iter().all(|n| (1..=MOST).contains(n));
        if !is_small || spec.active_pages > spec.pages || spec.active_users > spec.users {
            return Err(SpecError(format!(
                "the numbers of pages, users and revisions must be at least 1 and at most {MOST}"
            )));
        }
        check_weights(&spec.mix)?;
        spec.hotspot.check()?;
        Ok(Wikipedia { spec })
    }

    fn draw_title(&self, dice: &mut Dice) -> Field {
        title(self.spec.hotspot.draw(self.spec.active_pages, dice) + 1)
    }

    /// A user; half of the draws are nobody.
    fn draw_user(&self, dice: &mut Dice) -> i64 {
        if dice.chance(0.5) { NOBODY } else { i64::from(dice.below(self.spec.active_users)) + 1 }
    }

    fn add_watch_list(&self, call: Call, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (user, title) = (self.draw_user(dice), self.draw_title(dice));
        if user == NOBODY {
            return Ok(true);
        }
        let key = [user.into(), ARTICLES.into(), title.clone()];
        if ops.find(&WATCHLIST, &["wl_user"], &key)?.is_none() {
            ops.insert(&WATCHLIST, &[user.into(), ARTICLES.into(), title, Field::Null])?;
        }
        touch(ops, user, call)?;
        Ok(true)
    }

    fn remove_watch_list(
        &self,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        let (user, title) = (self.draw_user(dice), self.draw_title(dice));
        if user == NOBODY {
            return Ok(true);
        }
        let key = [user.into(), ARTICLES.into(), title];
        if ops.find(&WATCHLIST, &["wl_user"], &key)?.is_some() {
            ops.delete(&WATCHLIST, &key)?;
        }
        touch(ops, user, call)?;
        Ok(true)
    }

    fn update_page(&self, call: Call, dice: &mut Dice, ops: &mut dyn Operations) -> Result<bool, Stopped> {
        let (user, title) = (self.draw_user(dice), self.draw_title(dice));
        let word = dice.below(1000);
        let (page, parent, text) = get_page(ops, &title)?;
        let (id, now) = (call.id(), call.number.cast_signed() + 1);
        let text = format!("word {word} {}", text.chars().take(40).collect::<String>());
        let length = size(text.chars().count());
        ops.insert(&TEXT, &[id.into(), text.into()])?;
        let comment = Field::Text(format!("edit {word}"));
        let revision = [id.into(), page.0.into(), id.into(), user.into(), comment.clone(), parent.into()];
        ops.insert(&REVISION, &revision)?;
        let changes = [("page_latest", id.into()), ("page_touched", now.into()), ("page_len", length.into())];
        ops.change(&PAGE, &[page.0.into()], &changes)?;
        ops.insert(&RECENT_CHANGES, &[id, user, page.0, id, parent].map(Field::Int))?;
        notify(ops, &page, user, now)?;
        ops.insert(&LOGGING, &[id.into(), user.into(), page.0.into(), comment])?;
        if user != NOBODY {
            let edits = ops.row(&USER, &["user_editcount"], &[user.into()])?.int(0);
            let changes = [("user_editcount", (edits + 1).into()), ("user_touched", now.into())];
            ops.change(&USER, &[user.into()], &changes)?;
        }
        Ok(true)
    }
}

/// Notes when a user was last active.
fn touch(ops: &mut dyn Operations, user: i64, call: Call) -> Result<(), Stopped> {
    let now = call.number.cast_signed() + 1;
    ops.change(&USER, &[user.into()], &[("user_touched", now.into())])
}

/// Marks the page as changed for all who watch it and did not make the change.
fn notify(ops: &mut dyn Operations, page: &Page, user: i64, now: i64) -> Result<(), Stopped> {
    let watchers = Select::from(&WATCHLIST, &["wl_user"]).equal("wl_namespace", ARTICLES);
    let watchers = watchers.equal("wl_title", page.1.clone()).ascending();
    let watchers: Vec<i64> = ops.select(&watchers)?.iter().map(|row| row.int(0)).collect();
    for watcher in watchers.into_iter().filter(|&watcher| watcher != user) {
        let key = [watcher.into(), ARTICLES.into(), page.1.clone()];
        // It does not matter if the watcher has gone in the meantime.
        ops.update(&WATCHLIST, &key, &[("wl_notificationtimestamp", now.into())])?;
    }
    Ok(())
}

/// A page with the number and the text of its newest revision.
fn get_page(ops: &mut dyn Operations, title: &Field) -> Result<(Page, i64, String), Stopped> {
    let page = Select::from(&PAGE, &["page_id", "page_latest"]).equal("page_namespace", ARTICLES);
    let pages = ops.select(&page.equal("page_title", title))?;
    let Some(page) = pages.first() else {
        return Err(ops.fail(format!("there is no page {title}")));
    };
    let (id, latest) = (page.int(0), page.int(1));
    let revision = ops.row(&REVISION, &["rev_text_id"], &[latest.into()])?;
    let text = ops.row(&TEXT, &["old_text"], &[revision.int(0).into()])?;
    Ok(((id, title.clone()), latest, text.text(0).to_owned()))
}

fn title(page: u32) -> Field {
    Field::Text(format!("Page {page}"))
}

impl Application for Wikipedia {
    fn name(&self) -> &'static str {
        "wikipedia"
    }

    fn about(&self) -> &'static str {
        "Wikipedia: readers and editors of pages, with watch lists"
    }

    fn tables(&self) -> Vec<Contents> {
        let revisions = self.spec.revisions;
        let (mut pages, mut chain, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for page in 1..=self.spec.pages {
            // The numbers are not positive, so that no transaction of a run has them.
            let first = -i64::from((page - 1) * revisions);
            let latest = first - i64::from(revisions) + 1;
            pages.push(vec![
                page.into(),
                ARTICLES.into(),
                title(page),
                latest.into(),
                0i64.into(),
                0i64.into(),
            ]);
            for number in (latest..=first).rev() {
                // The first revision is its own parent.
                let parent = if number == first { first } else { number + 1 };
                let comment = "import".into();
                let ids = [number, page.into(), number, NOBODY].map(Field::Int);
                chain.push(ids.into_iter().chain([comment, parent.into()]).collect());
                texts.push(vec![number.into(), Field::Text(format!("text {}", -number))]);
            }
        }
        let user = |id: u32| vec![id.into(), Field::Text(format!("user {id}")), 0i64.into(), 0i64.into()];
        vec![
            Contents { table: &PAGE, rows: pages },
            Contents { table: &USER, rows: (1..=self.spec.users).map(user).collect() },
            Contents { table: &REVISION, rows: chain },
            Contents { table: &TEXT, rows: texts },
            Contents { table: &WATCHLIST, rows: Vec::new() },
            Contents { table: &RECENT_CHANGES, rows: Vec::new() },
            Contents { table: &LOGGING, rows: Vec::new() },
        ]
    }

    fn parameters(&self) -> Value {
        json!(self.spec)
    }

    fn programs(&self) -> &'static [&'static str] {
        &["AddWatchList", "RemoveWatchList", "UpdatePage", "GetPageAnonymous", "GetPageAuthenticated"]
    }

    fn draw(&self, _call: Call, dice: &mut Dice) -> usize {
        draw_weighted(&self.spec.mix, dice)
    }

    fn transact(
        &self,
        program: usize,
        call: Call,
        dice: &mut Dice,
        ops: &mut dyn Operations,
    ) -> Result<bool, Stopped> {
        match program {
            0 => return self.add_watch_list(call, dice, ops),
            1 => return self.remove_watch_list(call, dice, ops),
            2 => return self.update_page(call, dice, ops),
            3 => {}
            _ => {
                let user = i64::from(dice.below(self.spec.active_users)) + 1;
                ops.row(&USER, &["user_name", "user_editcount", "user_touched"], &[user.into()])?;
            }
        }
        let title = self.draw_title(dice);
        get_page(ops, &title)?;
        Ok(true)
    }

    fn rules(&self, tables: &mut dyn Tables, _books: Books) -> Result<Vec<String>, Stopped> {
        let mut broken = Vec::new();
        let mut users = |table, column: &'static str| -> Result<Vec<i64>, Stopped> {
            Ok(tables.rows(table, &[column])?.iter().map(|row| row.int(0)).collect())
        };
        let sources = [
            ("revisions", users(&REVISION, "rev_user")?),
            ("recent changes", users(&RECENT_CHANGES, "rc_user")?),
            ("entries of the log", users(&LOGGING, "log_user")?),
        ];
        for user in tables.rows(&USER, &["user_id", "user_editcount"])? {
            for (what, all) in &sources {
                let count = size(all.iter().filter(|&&id| id == user.int(0)).count());
                if count != user.int(1) {
                    let (id, edits) = (user.int(0), user.int(1));
                    broken.push(format!("user {id} has {edits} edits, but {count} {what}"));
                }
            }
        }
        let revisions = tables.rows(&REVISION, &["rev_id", "rev_page", "rev_parent_id"])?;
        for page in tables.rows(&PAGE, &["page_id", "page_latest"])? {
            let (id, mut latest) = (page.int(0), page.int(1));
            let of_page = || revisions.iter().filter(|row| row.int(1) == id);
            let mut length = 0;
            while let Some(revision) = of_page().find(|row| row.int(0) == latest) {
                length += 1;
                if revision.int(2) == latest || length > of_page().count() {
                    break;
                }
                latest = revision.int(2);
            }
            let count = of_page().count();
            if length != count {
                broken.push(format!(
                    "page {id} has {count} revisions, but only {length} are in its chain: an edit is lost"
                ));
            }
        }
        Ok(broken)
    }
}
