//! Input sources: files, directories and standard input, compressed or not.
//!
//! Everything is a stream. A stream of lines is split into blocks of whole lines ([`Blocks`]). So several
//! threads can parse while one reads, compressed input and pipes work like files, and memory use is a few
//! blocks for input of any size. Files are read, not mapped: truncating a mapped file kills the process, its
//! pages count as memory of this process, and copying costs a fiftieth of the parsing time.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::Progress;
use crate::problem::Problems;

/// The input to read.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file, or a directory that holds a history.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory, under a name.
    Bytes {
        /// The name to use in messages.
        name: String,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
}

impl Input {
    /// The input for a command-line argument: `-` is standard input.
    pub fn from_arg(arg: &Path) -> Input {
        if arg.as_os_str() == "-" { Input::Stdin } else { Input::Path(arg.to_owned()) }
    }

    /// Text in memory, for tests and examples.
    pub fn text(name: &str, text: &str) -> Input {
        Input::Bytes { name: name.to_owned(), bytes: text.as_bytes().into() }
    }

    /// The name to use in messages.
    pub fn name(&self) -> String {
        match self {
            Input::Path(path) => path.display().to_string(),
            Input::Stdin => "<stdin>".to_owned(),
            Input::Bytes { name, .. } => name.clone(),
        }
    }
}

/// One file of an input, which can be read more than once.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) name: String,
    content: Content,
}

#[derive(Clone)]
enum Content {
    File(PathBuf),
    /// Standard input, a pipe or a device. It can be read only once, so its content is copied to an anonymous
    /// file, for messages that quote it.
    Once(Option<PathBuf>, Arc<Mutex<Spool>>),
    Bytes(Arc<[u8]>),
}

/// The content read so far of a source that can be read only once, on disk.
#[derive(Default)]
pub(crate) struct Spool {
    file: Option<File>,
}

impl Source {
    pub(crate) fn path(path: &Path) -> Source {
        let once = path.metadata().is_ok_and(|meta| !meta.is_file());
        let content = if once {
            Content::Once(Some(path.to_owned()), Arc::default())
        } else {
            Content::File(path.to_owned())
        };
        Source { name: path.display().to_string(), content }
    }

    pub(crate) fn stdin() -> Source {
        Source { name: "<stdin>".to_owned(), content: Content::Once(None, Arc::default()) }
    }

    pub(crate) fn bytes(name: &str, bytes: Arc<[u8]>) -> Source {
        Source { name: name.to_owned(), content: Content::Bytes(bytes) }
    }

    /// Opens the decompressed content. Must be called only once; see [`Source::reopen`].
    pub(crate) fn open(&self) -> io::Result<Stream> {
        match &self.content {
            Content::File(path) => Stream::new(Box::new(File::open(path)?)),
            Content::Bytes(bytes) => Stream::new(Box::new(io::Cursor::new(bytes.clone()))),
            Content::Once(path, spool) => {
                let input: Box<dyn Read + Send> = match path {
                    Some(path) => Box::new(File::open(path)?),
                    None => Box::new(io::stdin()),
                };
                spool.lock().map_err(|_| io::Error::other("spool"))?.file = Some(tempfile::tempfile()?);
                Stream::new(Box::new(Tee { input, spool: spool.clone() }))
            }
        }
    }

    /// Opens the content again, as far as it was read before.
    pub(crate) fn reopen(&self) -> io::Result<Stream> {
        match &self.content {
            Content::Once(_, spool) => {
                let spool = spool.lock().map_err(|_| io::Error::other("spool"))?;
                let Some(file) = &spool.file else { return Stream::new(Box::new(io::empty())) };
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(0))?;
                Stream::new(Box::new(file))
            }
            _ => self.open(),
        }
    }
}

struct Tee {
    input: Box<dyn Read + Send>,
    spool: Arc<Mutex<Spool>>,
}

impl Read for Tee {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        let mut spool = self.spool.lock().map_err(|_| io::Error::other("spool"))?;
        if let Some(file) = &mut spool.file {
            file.write_all(&buffer[..n])?;
        }
        Ok(n)
    }
}

/// A callback that is asked, often and from any thread, whether a number of additional bytes of memory may be
/// used.
pub type Room = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// The size of [`Stream::head`].
const HEAD: usize = 64 << 10;

/// A decompressed stream whose first bytes can be inspected before reading.
pub(crate) struct Stream {
    head: Vec<u8>,
    used: usize,
    rest: Box<dyn Read + Send>,
    room: Option<Room>,
}

impl Stream {
    fn new(mut raw: Box<dyn Read + Send>) -> io::Result<Stream> {
        let mut magic = Vec::with_capacity(4);
        raw.by_ref().take(4).read_to_end(&mut magic)?;
        let gzip = magic.starts_with(&[0x1f, 0x8b]);
        let zstd = magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        let whole = io::Cursor::new(magic).chain(raw);
        let mut rest: Box<dyn Read + Send> = if gzip {
            Box::new(flate2::read::MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, whole)))
        } else if zstd {
            Box::new(Zstd::new(Box::new(io::BufReader::with_capacity(1 << 16, whole)))?)
        } else {
            Box::new(whole)
        };
        let mut head = Vec::new();
        rest.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        Ok(Stream { head, used: 0, rest, room: None })
    }

    /// The same stream, which fails with [`io::ErrorKind::OutOfMemory`] when `room` refuses more memory.
    pub(crate) fn within(self, room: Option<Room>) -> Stream {
        Stream { room, ..self }
    }

    /// The first bytes of the stream, at most 64 KiB.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Reads the whole stream, if it is not longer than `limit`. Stops early if `go_on` returns false.
    pub(crate) fn read_while(
        mut self,
        limit: u64,
        mut go_on: impl FnMut(&[u8]) -> bool,
    ) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        while (&mut self).take(BLOCK as u64).read_to_end(&mut all)? > 0 && go_on(&all) {
            if all.len() as u64 > limit {
                let message = format!("longer than {} MiB, the limit for this format", limit >> 20);
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
            }
        }
        Ok(all)
    }

    /// Reads the whole stream, if it is text, not longer than `limit` and without a line longer than
    /// `longest_line`. Problems are detected while reading, so that a file of zeros is rejected at its first
    /// zero. `None` if a problem was reported.
    pub(crate) fn read_text(
        self,
        limit: u64,
        longest_line: usize,
        base: u64,
        progress: Progress<'_>,
        problems: &mut Problems,
    ) -> io::Result<Option<Vec<u8>>> {
        let (mut seen, mut line_start, mut wrong) = (0, 0, None);
        let all = self.read_while(limit, |all| {
            let new = &all[seen..];
            line_start = memchr::memrchr(b'\n', new).map_or(line_start, |n| seen + n + 1);
            if let Some(zero) = memchr::memchr(0, new) {
                wrong = Some((seen + zero, true));
            } else if all.len() - line_start > longest_line {
                wrong = Some((line_start, false));
            }
            seen = all.len();
            wrong.is_none()
        })?;
        progress(all.len() as u64);
        match wrong {
            None => return Ok(Some(all)),
            Some((zero, true)) => {
                problems.error(Some(base + zero as u64), "unexpected byte 0x00", "text");
            }
            Some((line, false)) => too_long(base + line as u64, longest_line, problems),
        }
        Ok(None)
    }
}

/// Reports a line that is too long. The rest is not read: positions in it would be meaningless.
pub(crate) fn too_long(at: u64, longest_line: usize, problems: &mut Problems) {
    let most = match longest_line {
        bytes @ ..1024 => format!("{bytes} bytes"),
        bytes => format!("{} MiB", bytes >> 20),
    };
    problems.error(Some(at), "this line is too long", format!("a line of at most {most}"));
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.room.as_ref().is_some_and(|room| !room(0)) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        if self.used < self.head.len() {
            let n = (&self.head[self.used..]).read(buffer)?;
            self.used += n;
            return Ok(n);
        }
        self.rest.read(buffer)
    }
}

/// A sequence of Zstandard frames.
struct Zstd {
    frame: Option<
        ruzstd::decoding::StreamingDecoder<Box<dyn io::BufRead + Send>, ruzstd::decoding::FrameDecoder>,
    >,
}

impl Zstd {
    fn new(input: Box<dyn io::BufRead + Send>) -> io::Result<Zstd> {
        let frame = ruzstd::decoding::StreamingDecoder::new(input).map_err(corrupt)?;
        Ok(Zstd { frame: Some(frame) })
    }
}

/// The decoder's own messages describe its internals, so they are replaced.
fn corrupt<E>(_: E) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the zstd data is corrupt or cut off")
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(mut frame) = self.frame.take() {
            let n = frame.read(buffer).map_err(corrupt)?;
            if n > 0 || buffer.is_empty() {
                self.frame = Some(frame);
                return Ok(n);
            }
            let stored = frame.decoder.get_checksum_from_data();
            if stored.is_some() && stored != frame.decoder.get_calculated_checksum() {
                return Err(corrupt(()));
            }
            let mut input = frame.into_inner();
            if !input.fill_buf()?.is_empty() {
                self.frame = Some(ruzstd::decoding::StreamingDecoder::new(input).map_err(corrupt)?);
            }
        }
        Ok(0)
    }
}

/// The approximate length of a block.
pub(crate) const BLOCK: usize = 512 << 10;
/// Space reserved at the front for the line that the previous block cut, so that buffers need not grow.
const ROOM: usize = 4 << 10;

/// A run of whole lines.
pub(crate) struct Block {
    /// The offset of the first byte in the stream.
    pub(crate) start: u64,
    /// The lines. Every line but the last of the input ends with a newline.
    pub(crate) bytes: Vec<u8>,
    /// Whether this is only the beginning of a line that is too long.
    pub(crate) cut: bool,
    pool: Pool,
}

/// Buffers for reuse. The kernel must clear new memory page by page, which would take longer than parsing the
/// content.
type Pool = Arc<Mutex<Vec<Vec<u8>>>>;

impl Drop for Block {
    fn drop(&mut self) {
        if let Ok(mut pool) = self.pool.lock() {
            pool.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// A stream split into runs of whole lines.
pub(crate) struct Blocks {
    stream: Stream,
    carry: Vec<u8>,
    start: u64,
    ended: bool,
    longest_line: usize,
    pool: Pool,
}

impl Blocks {
    /// Splits a stream into blocks. A line may not be much longer than `longest_line`. A longer line is cut,
    /// and its first block is marked.
    pub(crate) fn new(stream: Stream, longest_line: usize) -> Blocks {
        Blocks { stream, carry: Vec::new(), start: 0, ended: false, longest_line, pool: Pool::default() }
    }

    /// The next block; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Block>> {
        let pooled = self.pool.lock().ok().and_then(|mut pool| pool.pop());
        let mut bytes = pooled.unwrap_or_else(|| Vec::with_capacity(BLOCK + ROOM));
        bytes.clear();
        bytes.append(&mut self.carry);
        let mut cut = false;
        while !self.ended {
            let had = bytes.len();
            bytes.reserve(BLOCK);
            let got = (&mut self.stream).take(BLOCK as u64).read_to_end(&mut bytes)?;
            self.ended = got < BLOCK;
            let newline = memchr::memrchr(b'\n', &bytes[had..]);
            if let (false, Some(newline)) = (self.ended, newline) {
                self.carry.extend_from_slice(&bytes[had + newline + 1..]);
                bytes.truncate(had + newline + 1);
            }
            cut = newline.is_none() && bytes.len() > self.longest_line;
            if newline.is_some() || cut {
                break;
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let start = self.start;
        self.start += bytes.len() as u64;
        Ok(Some(Block { start, bytes, cut, pool: self.pool.clone() }))
    }
}
