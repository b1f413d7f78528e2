package io.jccl.status;

import io.jccl.bootstrap.Reactor;
import io.jccl.bootstrap.WireException;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/**
 * A connection of the status server, at either end: reads exactly what is expected next, and not a byte more. A message is its
 * length (4 bytes, big endian), then its bytes. On the reactor's thread only.
 */
abstract class StatusConnection implements Reactor.Handler {

    private static final int LENGTH_BYTES = 4;

    final SocketChannel channel;
    private final int maxMessage;
    private SelectionKey key;
    private ByteBuffer expected; // null: nothing more
    private boolean isMessage; // what is expected, else a part of the handshake
    private boolean isLength;
    private ByteBuffer unsent = ByteBuffer.allocate(0);
    private boolean closesWhenSent;
    private boolean closed;

    /**
     * Nothing is expected yet.
     *
     * @param channel non-blocking
     * @param maxMessage the bytes of the longest message that is read
     */
    StatusConnection(SocketChannel channel, int maxMessage) {
        this.channel = channel;
        this.maxMessage = maxMessage;
    }

    /** A part of the handshake has been read whole. */
    abstract void handshake(byte[] bytes) throws IOException;

    /** A message has been read whole. */
    abstract void message(byte[] bytes) throws IOException;

    /** The connection is made; only where this end makes it. */
    void connected() throws IOException {
        // where the other end made it there is nothing to say first
    }

    /** The connection broke, or was closed by the other end; it is closed. Called once at most. */
    abstract void broken(Throwable cause);

    final void register(Reactor reactor, int operations) throws IOException {
        key = reactor.register(channel, operations, this);
    }

    final void expectHandshake(int bytes) {
        isMessage = false;
        expected = ByteBuffer.allocate(bytes);
    }

    final void expectMessage() {
        isMessage = true;
        isLength = true;
        expected = ByteBuffer.allocate(LENGTH_BYTES);
    }

    final void send(byte[] bytes) throws IOException {
        if (unsent.hasRemaining()) {
            unsent = ByteBuffer.allocate(unsent.remaining() + bytes.length)
                    .put(unsent)
                    .put(bytes)
                    .flip();
        } else {
            unsent = ByteBuffer.wrap(bytes);
        }
        flush();
    }

    final void sendMessage(byte[] bytes) throws IOException {
        send(ByteBuffer.allocate(LENGTH_BYTES + bytes.length)
                .putInt(bytes.length)
                .put(bytes)
                .array());
    }

    /** Closes once all has been sent. */
    final void closeWhenSent() {
        closesWhenSent = true;
        if (!unsent.hasRemaining()) {
            close();
        }
    }

    private void flush() throws IOException {
        channel.write(unsent);
        if (unsent.hasRemaining()) {
            key.interestOpsOr(SelectionKey.OP_WRITE);
        } else {
            key.interestOpsAnd(~SelectionKey.OP_WRITE);
            if (closesWhenSent) {
                close();
            }
        }
    }

    @Override
    public final void ready(SelectionKey ready) throws IOException {
        if (ready.isConnectable()) {
            channel.finishConnect();
            key.interestOps(SelectionKey.OP_READ);
            connected();
        }
        if (ready.isValid() && ready.isWritable()) {
            flush();
        }
        if (ready.isValid() && ready.isReadable()) {
            read();
        }
    }

    private void read() throws IOException {
        while (!closed) {
            ByteBuffer into = expected == null ? ByteBuffer.allocate(1) : expected;
            int n = channel.read(into);
            if (n < 0) {
                throw new EOFException("it closed the connection");
            }
            if (n > 0 && expected == null) {
                throw new WireException("it says more than is expected");
            }
            if (into.hasRemaining()) {
                return;
            }
            expected = null;
            take(into);
        }
    }

    private void take(ByteBuffer whole) throws IOException {
        if (!isMessage) {
            handshake(whole.array());
        } else if (isLength) {
            int length = whole.getInt(0);
            if (length < 1 || length > maxMessage) {
                throw new WireException("message length=" + length + ": expected 1 to " + maxMessage);
            }
            isLength = false;
            expected = ByteBuffer.allocate(length);
        } else {
            message(whole.array());
        }
    }

    @Override
    public final void failed(Throwable cause) {
        if (!closed) {
            close();
            broken(cause);
        }
    }

    final boolean isClosed() {
        return closed;
    }

    /** Closes at once. */
    void close() {
        closed = true;
        Reactor.closeQuietly(channel);
    }
}
