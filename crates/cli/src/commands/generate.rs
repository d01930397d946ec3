use crate::{args::GenerateArgs, exit::Exit, terminal::Terminal};
pub(crate) fn run(_: &GenerateArgs, _: &Terminal) -> Exit {
    Exit::Holds
}
