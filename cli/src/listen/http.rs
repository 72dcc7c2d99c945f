//! The part of HTTP that a probe and a scraper need: one `GET` a connection.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest time that a client may take for request and answer.
const LIMIT: Duration = Duration::from_secs(5);
/// The longest head of a request, in bytes.
const LONGEST: usize = 8 * 1024;

/// The answer to a request.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn text(status: u16, body: &str) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", headers: Vec::new(), body: body.into() }
    }

    fn bytes(&self, with_body: bool) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            431 => "Request Header Fields Too Large",
            _ => "Service Unavailable",
        };
        let mut head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n",
            self.status,
            self.content_type,
            self.body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        if with_body {
            head.push_str(&self.body);
        }
        head.into_bytes()
    }
}

/// Reads a request and answers it. A client that sends nothing, or too much, loses only its own connection.
pub(super) async fn serve(mut stream: TcpStream, answer: impl Fn(&str) -> Answer) {
    let exchange = async {
        let mut read = Vec::new();
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 64];
            let mut request = httparse::Request::new(&mut headers);
            let reply = match request.parse(&read) {
                Ok(httparse::Status::Partial) if read.len() < LONGEST => None,
                Ok(httparse::Status::Partial) => Some(Answer::text(431, "too long\n").bytes(true)),
                Ok(httparse::Status::Complete(_)) => {
                    let path = request.path.unwrap_or("/").split('?').next().unwrap_or("/");
                    Some(match request.method {
                        Some("GET") => answer(path).bytes(true),
                        Some("HEAD") => answer(path).bytes(false),
                        _ => Answer::text(405, "GET and HEAD are understood\n").bytes(true),
                    })
                }
                Err(_) => Some(Answer::text(400, "this is no HTTP\n").bytes(true)),
            };
            if let Some(reply) = reply {
                let _ = stream.write_all(&reply).await;
                let _ = stream.shutdown().await;
                return;
            }
            if !matches!(stream.read_buf(&mut read).await, Ok(size) if size > 0) {
                return;
            }
        }
    };
    let _ = timeout(LIMIT, exchange).await;
}
