//! A violation in all worlds. The story shows one world: its suppositions, its anomaly, and the number of other worlds.

use isoscope_certificate::{Finding, Instance, Question, World, Worlds};
use isoscope_history::{Op, OpKind};

use crate::story::{Clause, Teller};

/// The most suppositions of a story; the rest is counted.
const MOST: usize = 8;

impl Teller<'_> {
    pub(crate) fn world_clauses(&self, worlds: &Worlds) -> Vec<Clause> {
        let Some((node, main)) = worlds.main_leaf() else { return Vec::new() };
        let supposed = self.supposed(worlds, node);
        let shown = supposed.len().min(MOST);
        let mut clauses: Vec<Clause> = supposed[..shown]
            .iter()
            .map(|(text, ops)| Clause::new(format!("Suppose that {text}."), ops.clone()))
            .collect();
        if supposed.len() > shown {
            let more = format!("... and {} more suppositions of this kind", supposed.len() - shown);
            clauses.push(Clause::new(more, Vec::new()));
        }
        if let Some(instance) = main.instances.first() {
            clauses.extend(self.story(main.anomaly, instance).clauses);
        }
        match worlds.leaves().count() - 1 {
            0 => {}
            1 => clauses.push(Clause::new("The other case also has an anomaly.", Vec::new())),
            n => {
                clauses.push(Clause::new(
                    format!("Each of the {n} other cases also has an anomaly."),
                    Vec::new(),
                ));
            }
        }
        clauses
    }

    pub(crate) fn world_headline(&self, worlds: &Worlds) -> String {
        let cases = worlds.leaves().count();
        let Some((_, main)) = worlds.main_leaf() else { return String::new() };
        let story = main.instances.first().map(|instance| self.story(main.anomaly, instance).headline);
        let story = story.unwrap_or_default();
        // The caller ends the sentence.
        let story = story.trim_end_matches('.');
        if cases == 1 {
            return format!("The list reads can be explained in one way, which is an anomaly: {story}");
        }
        format!(
            "The list reads can be explained in {cases} ways, and each is an anomaly. In one of them: {story}"
        )
    }

    /// All operations of the leaves and the questions.
    pub(crate) fn world_operations(&self, worlds: &Worlds) -> Vec<Op> {
        let of_leaf = |finding: &Finding| {
            let instance = finding.instances.first();
            instance.map_or(Vec::new(), |instance| self.operations(finding.anomaly, &instance.evidence))
        };
        let mut ops: Vec<Op> = worlds.leaves().flat_map(|(_, finding)| of_leaf(finding)).collect();
        for case in &worlds.cases {
            if let World::Open { question: Question::Element { read, appends, .. }, .. } = case {
                ops.push(*read);
                ops.extend(appends);
            }
        }
        ops
    }

    /// For each world in which the level is violated: its suppositions, the finding, and its instance.
    pub fn worlds<'w>(
        &self,
        worlds: &'w Worlds,
    ) -> impl Iterator<Item = (Vec<String>, &'w Finding, &'w Instance)> {
        worlds.leaves().filter_map(|(node, finding)| {
            let supposed = self.supposed(worlds, node).into_iter().map(|(text, _)| text).collect();
            Some((supposed, finding, finding.instances.first()?))
        })
    }

    /// The suppositions on the path to a node, in words, with their operations.
    fn supposed(&self, worlds: &Worlds, node: usize) -> Vec<(String, Vec<Op>)> {
        let mut supposed = Vec::new();
        let mut below = node;
        // Parents come before their children.
        for (number, case) in worlds.cases.iter().enumerate().take(node).rev() {
            let World::Open { question, cases } = case else { continue };
            if let Some(answer) = cases.iter().position(|&child| child as usize == below) {
                supposed.push(self.answer(question, answer));
                below = number;
            }
        }
        supposed.reverse();
        supposed
    }

    /// An answer to a question: `the 1 at place 2 of x=[1 1] is what T1 appended`.
    fn answer(&self, question: &Question, answer: usize) -> (String, Vec<Op>) {
        let words = &self.words;
        match question {
            Question::Outcome { txn } => {
                let did = if answer == 0 { "took effect" } else { "did not take effect" };
                (format!("{} {did}", words.txn(*txn)), Vec::new())
            }
            Question::Element { read, index, appends } => {
                let (_, view) = words.of(*read);
                let element = words.history.table().elements(view.value).get(*index as usize);
                let element = element.map_or_else(String::new, |&element| words.value(element));
                let append = appends.get(answer).copied().unwrap_or(*read);
                let (writer, _) = words.of(append);
                let key = words.key(view.key);
                let which = self.which(append);
                let place = index + 1;
                let text = format!(
                    "the {element} at place {place} of {key} is what {} appended{which}",
                    words.txn(writer)
                );
                (text, vec![append, *read])
            }
        }
    }

    /// Which of several appends of one element by one transaction an append is.
    fn which(&self, append: Op) -> String {
        let (writer, view) = self.words.of(append);
        let same = self
            .words
            .history
            .ops_of(writer)
            .filter(|op| op.kind == OpKind::Append && (op.key, op.value) == (view.key, view.value));
        let ops: Vec<Op> = same.map(|op| op.id).collect();
        match ops.iter().position(|&op| op == append) {
            Some(0) if ops.len() > 1 => " first".to_owned(),
            Some(place) if ops.len() > 1 => format!(" as its append number {} of it", place + 1),
            _ => String::new(),
        }
    }
}
