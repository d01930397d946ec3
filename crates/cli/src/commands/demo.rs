use crate::{args::DemoArgs, exit::Exit, terminal::Terminal};
pub(crate) fn run(_: &DemoArgs, _: &Terminal) -> Exit {
    Exit::Holds
}
