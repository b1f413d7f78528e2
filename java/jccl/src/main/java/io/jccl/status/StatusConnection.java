package io.jccl.status;

import io.jccl.wire.Reactor;
import io.jccl.wire.WireChannel;
import io.jccl.wire.WireException;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/**
 * One end of a connection of the status server. Reads exactly the bytes that are expected next, and no more. A message
 * is its length (4 bytes, big endian) followed by its bytes. Only the reactor's thread may use it.
 */
abstract class StatusConnection implements Reactor.Handler {

    private static final int LENGTH_BYTES = 4;

    final SocketChannel channel;
    final WireChannel wire;
    private final int maxMessage;
    private SelectionKey key;
    private ByteBuffer expected; // the buffer to fill; null: nothing is expected
    private boolean isMessage; // true: a message is expected, false: a part of the handshake
    private boolean isLength;
    private ByteBuffer unsent = ByteBuffer.allocate(0);
    private boolean closesWhenSent;
    private boolean closed;

    /**
     * Makes a connection that expects nothing yet.
     *
     * @param channel the channel, which must be non-blocking
     * @param maxMessage the largest number of bytes of a message that is read
     */
    StatusConnection(SocketChannel channel, int maxMessage) {
        this.channel = channel;
        this.wire = new WireChannel(channel);
        this.maxMessage = maxMessage;
    }

    /** Called when an expected part of the handshake is complete. */
    abstract void handshake(byte[] bytes) throws IOException;

    /** Called when an expected message is complete. */
    abstract void message(byte[] bytes) throws IOException;

    /** Called when the connection is established, only at the end that connects. */
    void connected() throws IOException {
        // nothing to do at the accepting end: the connecting end sends first
    }

    /** Called when the connection broke or the other end closed it; it is closed already. Called at most once. */
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

    /** Closes the connection when everything has been sent. */
    final void closeWhenSent() {
        closesWhenSent = true;
        if (!unsent.hasRemaining() && wire.isFlushed()) {
            close();
        }
    }

    private void flush() throws IOException {
        wire.write(unsent);
        if (unsent.hasRemaining() || !wire.flush()) {
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
            int n = wire.read(into);
            if (n < 0) {
                throw new EOFException("it closed the connection");
            }
            if (n > 0 && expected == null) {
                throw new WireException("it sent more bytes than were expected");
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

    /** Closes the connection at once. */
    void close() {
        closed = true;
        Reactor.closeQuietly(channel);
    }
}
