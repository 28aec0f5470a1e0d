//! Makes the calls that it reads as JSON lines, through tonic. See ../README.md.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use http::uri::PathAndQuery;
use serde_json::{json, Map, Value};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::{
    AsciiMetadataKey, BinaryMetadataKey, BinaryMetadataValue, KeyAndValueRef, MetadataMap,
};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

/// Messages are bytes: nothing here knows what they mean.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;
    fn encoder(&mut self) -> Raw {
        Raw
    }
    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;
    fn encode(&mut self, item: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;
    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let length = from.remaining();
        Ok(Some(from.copy_to_bytes(length)))
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(byte).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Task(Value);

impl Task {
    fn id(&self) -> &Value {
        &self.0["id"]
    }

    fn messages(&self) -> Vec<Bytes> {
        let zeros = self.0["zeros"].as_u64().unwrap_or(0) as usize;
        let messages = self.0["messages"].as_array().expect("messages");
        let message = |text: &Value| {
            let mut bytes = from_hex(text.as_str().expect("hex"));
            bytes.resize(bytes.len() + zeros, 0);
            Bytes::from(bytes)
        };
        messages.iter().map(message).collect()
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        for (name, value) in self.0["metadata"].as_object().unwrap_or(&Map::new()) {
            let text = value.as_str().expect("text");
            if name.ends_with("-bin") {
                let key: BinaryMetadataKey = name.parse().expect("a name");
                let value = BinaryMetadataValue::from_bytes(&from_hex(text));
                request.metadata_mut().insert_bin(key, value);
            } else {
                let key: AsciiMetadataKey = name.parse().expect("a name");
                request.metadata_mut().insert(key, text.parse().expect("a value"));
            }
        }
        if let Some(ms) = self.0["timeoutMs"].as_u64() {
            request.set_timeout(Duration::from_millis(ms));
        }
        request
    }

    fn told(&self, answer: &[u8]) {
        println!("{}", json!({ "id": self.id(), "message": to_hex(answer) }));
    }

    fn end(&self, code: Code, text: &str, headers: &MetadataMap, trailers: &MetadataMap) {
        let line = json!({ "id": self.id(), "code": code as i32, "text": text,
            "headers": texts(headers), "trailers": texts(trailers) });
        println!("{line}");
    }

    fn failed(&self, status: &Status, headers: &MetadataMap) {
        self.end(status.code(), status.message(), headers, status.metadata());
    }
}

fn texts(metadata: &MetadataMap) -> Map<String, Value> {
    metadata
        .iter()
        .map(|each| match each {
            KeyAndValueRef::Ascii(name, value) => {
                (name.to_string(), json!(value.to_str().unwrap_or("")))
            }
            KeyAndValueRef::Binary(name, value) => {
                (name.to_string(), json!(to_hex(&value.to_bytes().unwrap_or_default())))
            }
        })
        .collect()
}

async fn run(task: Task, channel: Channel) {
    let mut client = Grpc::new(channel).accept_compressed(CompressionEncoding::Gzip);
    if task.0["gzip"] == json!(true) {
        client = client.send_compressed(CompressionEncoding::Gzip);
    }
    let none = MetadataMap::new();
    if let Err(error) = client.ready().await {
        let status = Status::from_error(Box::new(error));
        return task.failed(&status, &none);
    }
    let path: PathAndQuery = task.0["path"].as_str().expect("path").parse().expect("path");
    let mut messages = task.messages().into_iter();
    let first = messages.next().expect("a message");
    match task.0["kind"].as_str() {
        Some("unary") => match client.unary(task.request(first), path, Raw).await {
            Ok(answer) => {
                task.told(answer.get_ref());
                task.end(Code::Ok, "", answer.metadata(), &none);
            }
            Err(status) => task.failed(&status, &none),
        },
        Some("server") => match client.server_streaming(task.request(first), path, Raw).await {
            Ok(answer) => {
                let (headers, answers, _) = answer.into_parts();
                read(&task, &headers, answers, None).await;
            }
            Err(status) => task.failed(&status, &none),
        },
        _ => {
            let (send, sent) = mpsc::channel(1);
            send.send(first).await.expect("room");
            let request = task.request(ReceiverStream::new(sent));
            match client.streaming(request, path, Raw).await {
                Ok(answer) => {
                    let (headers, answers, _) = answer.into_parts();
                    read(&task, &headers, answers, Some((send, messages))).await;
                }
                Err(status) => task.failed(&status, &none),
            }
        }
    }
}

type Rest = (mpsc::Sender<Bytes>, std::vec::IntoIter<Bytes>);

async fn read(
    task: &Task,
    headers: &MetadataMap,
    mut answers: Streaming<Bytes>,
    mut rest: Option<Rest>,
) {
    let cancel_after = task.0["cancelAfter"].as_u64();
    for count in 1.. {
        match answers.message().await {
            Ok(Some(answer)) => task.told(&answer),
            Ok(None) => {
                let trailers = answers.trailers().await.ok().flatten().unwrap_or_default();
                return task.end(Code::Ok, "", headers, &trailers);
            }
            Err(status) => return task.failed(&status, headers),
        }
        if Some(count) == cancel_after {
            // To let go of the stream is how tonic cancels.
            drop(answers);
            return task.end(Code::Cancelled, "let go", headers, &MetadataMap::new());
        }
        if let Some((send, mut left)) = rest.take() {
            if let Some(next) = left.next() {
                send.send(next).await.expect("room");
                rest = Some((send, left));
            }
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let argument = std::env::args().nth(1).expect("settings");
    let settings: Value = serde_json::from_str(&argument).expect("settings");
    let address = settings["address"].as_str().expect("address");
    let mut endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    if let Some(ms) = settings["keepaliveMs"].as_u64() {
        endpoint = endpoint
            .http2_keep_alive_interval(Duration::from_millis(ms))
            .keep_alive_timeout(Duration::from_secs(5));
    }
    let channel = endpoint.connect_lazy();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await.expect("stdin") {
        let task = Task(serde_json::from_str(&line).expect("a task"));
        tokio::spawn(run(task, channel.clone()));
    }
}
