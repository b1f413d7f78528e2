package io.jccl.bootstrap;

import io.jccl.nativelib.NativeSockets;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

/**
 * An authenticated connection on a {@link Reactor}: frames in both directions. {@link #send} may be called by any
 * thread and never waits; all callbacks come on the reactor's thread.
 */
final class FrameLink implements Reactor.Handler {

    /** The callbacks of a link. */
    interface Owner {

        /** A whole frame; may throw {@link WireException}, which closes the link. */
        void onFrame(FrameLink link, FrameType type, WireReader body);

        /** The link is closed, once; not called when the owner closed it. */
        void onClosed(FrameLink link, String why);
    }

    private static final int FIRST_BODY_BYTES = 64 << 10;
    private static final long MAX_QUEUED_BYTES = 512L << 20;

    private final Reactor reactor;
    private final SocketChannel channel;
    private final Owner owner;
    private final String remote;
    private final InetAddress localAddress;
    private final boolean insideHost;
    private final SelectionKey key;
    private final ByteBuffer header = ByteBuffer.allocate(FrameType.HEADER_BYTES);
    private byte[] body;
    private int bodyLength = -1;
    private int bodyRead;
    private int maxBody = FrameType.MAX_HELLO_BYTES;
    private volatile boolean closed;

    private final Deque<ByteBuffer> queue = new ArrayDeque<>(); // guarded by itself, like the two below
    private long queuedBytes;
    private boolean closeWhenSent;

    /** Takes over a non-blocking channel; on the reactor's thread or before it starts. */
    FrameLink(Reactor reactor, SocketChannel channel, Owner owner) throws IOException {
        this.reactor = reactor;
        this.channel = channel;
        this.owner = owner;
        this.remote = String.valueOf(channel.getRemoteAddress());
        this.localAddress = channel.socket().getLocalAddress();
        this.insideHost = localAddress.isLoopbackAddress()
                || localAddress.equals(channel.socket().getInetAddress());
        NativeSockets.boundRepetitions(channel); // a network that comes back before the heartbeat's time-out is noticed
        this.key = reactor.register(channel, SelectionKey.OP_READ, this);
    }

    /** Lets the peer send frames of any length that the protocol knows. */
    void allowLongFrames() {
        maxBody = FrameType.MAX_BODY_BYTES;
    }

    /** The address of the other end, for messages. */
    String remote() {
        return remote;
    }

    /** The address of this end. */
    InetAddress localAddress() {
        return localAddress;
    }

    /** Returns true if the peer is on this host, so that the address says nothing about how other hosts reach it. */
    boolean isInsideHost() {
        return insideHost;
    }

    void send(FrameType type, WireWriter content) {
        send(encode(type, content.toBytes()));
    }

    /** The bytes of a frame, which several links may send. */
    static ByteBuffer encode(FrameType type, byte[] content) {
        ByteBuffer frame = ByteBuffer.allocate(FrameType.HEADER_BYTES + content.length);
        return frame.putInt(content.length)
                .put((byte) type.ordinal())
                .put(content)
                .flip();
    }

    /** Queues a frame made by {@link #encode}; it is not changed. */
    void send(ByteBuffer frame) {
        Exception failure = null;
        synchronized (queue) {
            if (closed || closeWhenSent) {
                return;
            }
            if (queuedBytes + frame.remaining() > MAX_QUEUED_BYTES) {
                failure = new IOException("queuedBytes=" + queuedBytes + ": the peer does not read");
            } else {
                queue.add(frame.duplicate());
                queuedBytes += frame.remaining();
                if (queue.size() > 1) {
                    return; // a writer is active or the reactor waits for space in the socket
                }
                try {
                    if (!writeQueued()) {
                        reactor.execute(this::requestWrite);
                    }
                } catch (IOException e) {
                    failure = e;
                }
            }
        }
        if (failure != null) {
            Exception cause = failure;
            reactor.execute(() -> failed(cause));
        }
    }

    private boolean writeQueued() throws IOException {
        while (!queue.isEmpty()) {
            ByteBuffer first = queue.peek();
            int written = channel.write(first);
            queuedBytes -= written;
            reactor.countSent(written);
            if (first.hasRemaining()) {
                return false;
            }
            queue.remove();
        }
        return true;
    }

    private void requestWrite() {
        if (key.isValid()) {
            key.interestOpsOr(SelectionKey.OP_WRITE);
        }
    }

    /** Closes once what is queued has been sent; does not call the owner. */
    void closeWhenSent() {
        boolean now;
        synchronized (queue) {
            closeWhenSent = true;
            now = queue.isEmpty();
        }
        if (now) {
            close();
        }
    }

    @Override
    public void ready(SelectionKey ready) throws IOException {
        if (ready.isWritable()) {
            flush();
        }
        if (ready.isValid() && ready.isReadable()) {
            read();
        }
    }

    private void flush() throws IOException {
        boolean close;
        synchronized (queue) {
            if (!writeQueued()) {
                return;
            }
            key.interestOpsAnd(~SelectionKey.OP_WRITE);
            close = closeWhenSent;
        }
        if (close) {
            close();
        }
    }

    private void read() throws IOException {
        for (int frames = 0; frames < 64 && !closed; frames++) {
            if (bodyLength < 0 && !readHeader()) {
                return;
            }
            if (!readBody()) {
                return;
            }
            FrameType type = FrameType.of(header.get(4));
            ByteBuffer content = ByteBuffer.wrap(body, 0, bodyLength);
            header.clear();
            bodyLength = -1;
            body = null;
            owner.onFrame(this, type, new WireReader(content));
        }
    }

    private boolean readHeader() throws IOException {
        readSome(header);
        if (header.hasRemaining()) {
            return false;
        }
        FrameType.of(header.get(4));
        bodyLength = FrameType.checkLength(header.getInt(0), maxBody);
        body = new byte[Math.min(bodyLength, FIRST_BODY_BYTES)];
        bodyRead = 0;
        return true;
    }

    private boolean readBody() throws IOException {
        while (bodyRead < bodyLength) {
            if (bodyRead == body.length) {
                body = Arrays.copyOf(body, (int) Math.min(bodyLength, body.length * 2L)); // grows only as bytes arrive
            }
            ByteBuffer free = ByteBuffer.wrap(body, bodyRead, body.length - bodyRead);
            int n = readSome(free);
            if (n == 0) {
                return false;
            }
            bodyRead += n;
        }
        return true;
    }

    private int readSome(ByteBuffer to) throws IOException {
        int n = channel.read(to);
        if (n < 0) {
            throw new EOFException("the connection was closed by the other end");
        }
        return n;
    }

    @Override
    public void failed(Exception cause) {
        if (!closed) {
            close();
            owner.onClosed(this, cause.getMessage() == null ? cause.toString() : cause.getMessage());
        }
    }

    /** Closes at once; does not call the owner. */
    void close() {
        closed = true;
        Reactor.closeQuietly(channel);
    }
}
