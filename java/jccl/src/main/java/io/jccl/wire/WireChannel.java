package io.jccl.wire;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

/**
 * A socket channel whose bytes are encrypted after a handshake that says so, and pass unchanged otherwise. One thread
 * may read while another writes.
 */
public final class WireChannel implements Closeable {

    /** The number of bytes after which a write returns, so that a fast receiver does not keep the writer forever. */
    static final int MAX_WRITE_BYTES = 16 * Records.MAX_PLAIN_BYTES;

    private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

    private final SocketChannel channel;
    private Records records; // null if the bytes are not encrypted
    private ByteBuffer unsent = NOTHING; // the part of the last record that is not sent yet

    /** Wraps a channel whose bytes pass unchanged until {@link #encrypt}. */
    public WireChannel(SocketChannel channel) {
        this.channel = channel;
    }

    /** Encrypts all bytes from now on. */
    void encrypt(Records with) {
        records = with;
    }

    public SocketChannel socketChannel() {
        return channel;
    }

    public boolean isEncrypted() {
        return records != null;
    }

    /**
     * Reads like {@link SocketChannel#read}, from a non-blocking channel.
     *
     * @throws WireException if an encrypted record was changed
     */
    public int read(ByteBuffer to) throws IOException {
        if (records == null) {
            return channel.read(to);
        }
        while (!records.plain().hasRemaining()) {
            if (!records.isFull() && channel.read(records.space()) < 0) {
                records.requireWhole();
                return -1;
            }
            if (!records.isFull()) {
                return 0;
            }
            records.filled();
        }
        return records.take(to);
    }

    /**
     * Reads a whole array from a blocking channel by a deadline of {@link System#nanoTime}.
     *
     * @throws SocketTimeoutException if the deadline passes. Bytes of the array that have come are then lost
     */
    public byte[] read(int bytes, long deadlineNanos) throws IOException {
        ByteBuffer to = ByteBuffer.allocate(bytes);
        while (to.hasRemaining()) {
            if (records == null) {
                readBlocking(to, deadlineNanos);
            } else if (records.take(to) == 0) {
                if (!records.isFull()) {
                    readBlocking(records.space(), deadlineNanos);
                }
                if (records.isFull()) {
                    records.filled();
                }
            }
        }
        return to.array();
    }

    /** Reads at least a byte. Timed reads need the socket's stream: channels ignore the time-out of their socket. */
    private void readBlocking(ByteBuffer to, long deadlineNanos) throws IOException {
        long left = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
        if (left <= 0) {
            throw new SocketTimeoutException("no answer in time");
        }
        channel.socket().setSoTimeout((int) Math.min(left, Integer.MAX_VALUE));
        int got = channel.socket().getInputStream().read(to.array(), to.arrayOffset() + to.position(), to.remaining());
        if (got < 0) {
            throw new EOFException("the server closed the connection");
        }
        to.position(to.position() + got);
    }

    /**
     * Writes as many bytes as the socket and one record hold; of encrypted bytes, at most {@link #MAX_WRITE_BYTES}. A
     * non-blocking channel may keep a part of an encrypted record; {@link #flush} sends it.
     */
    public int write(ByteBuffer from) throws IOException {
        if (records == null) {
            return channel.write(from);
        }
        int taken = 0;
        while (flush() && from.hasRemaining() && taken < MAX_WRITE_BYTES) {
            int before = from.remaining();
            unsent = records.seal(from);
            taken += before - from.remaining();
        }
        return taken;
    }

    /** Sends what a write has kept. Returns true if nothing is left. */
    public boolean flush() throws IOException {
        if (unsent.hasRemaining()) {
            channel.write(unsent);
        }
        return !unsent.hasRemaining();
    }

    /** Returns true if a write has kept nothing. */
    public boolean isFlushed() {
        return !unsent.hasRemaining();
    }

    /** Returns true if bytes can be read although the socket may have none. */
    public boolean hasReceived() {
        return records != null && (records.plain().hasRemaining() || records.isFull());
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
