package io.jccl.wire;

import io.jccl.internal.Causes;
import io.jccl.nativelib.NativeSockets;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An authenticated connection on a {@link Reactor} that carries frames in both directions. {@link #send} may be called
 * by any thread and never waits; all callbacks come on the reactor's thread.
 */
public final class FrameLink implements Reactor.Handler, Link {

    /** The callbacks of a link. */
    public interface Owner {

        /**
         * Receives a whole frame. May throw {@link WireException}, which closes the link. After an error of the JVM,
         * called again with the same frame if its type permits that ({@link FrameType#isRepeatable}).
         */
        void onFrame(FrameLink link, FrameType type, WireReader body);

        /**
         * Called when bytes have arrived: before each {@link #onFrame}, and while a long frame arrives. Must allocate
         * nothing.
         */
        default void onAlive(FrameLink link) {}

        /**
         * Called if a peer that has proved the secret encrypts its connections and this end does not, or the other way
         * round. The peer is refused.
         */
        default void onOtherEncryption(String text) {}

        /** Called once when the link has closed, unless the owner closed it. */
        void onClosed(FrameLink link, String why);
    }

    private static final Logger LOG = LoggerFactory.getLogger(FrameLink.class);
    private static final int FIRST_BODY_BYTES = 64 << 10;
    private static final long MAX_QUEUED_BYTES = 512L << 20;

    /**
     * The number of a body's bytes after which a turn of the reactor goes on with its other work. An estimate:
     * decrypting them takes about 10 ms before the JVM has compiled the cipher.
     */
    private static final int MAX_TURN_BYTES = 1 << 20;

    /** The longest body that is read without allocation. A heartbeat's body is shorter. */
    private static final int MAX_SHORT_BODY_BYTES = 64;

    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0);

    /** The longest frames for {@link #sendShort}, in bytes. */
    static final int MAX_SHORT_BYTES = 1024;

    private final Reactor reactor;
    private final WireChannel channel;
    private final Owner owner;
    private final String remote;
    private final InetAddress localAddress;
    private final boolean insideHost;
    private final SelectionKey key;
    private final ByteBuffer header = ByteBuffer.allocate(FrameType.HEADER_BYTES);
    // contains the body of a short, repeatable frame
    private final ByteBuffer shortBody = ByteBuffer.allocate(MAX_SHORT_BODY_BYTES);
    private final WireReader shortReader = WireReader.over(shortBody);
    private byte[] body; // null while shortBody is used
    private int bodyLength = -1;
    private int bodyRead;
    private int maxBody = FrameType.MAX_HELLO_BYTES;
    private volatile boolean closed;
    private boolean mayRepeat = true; // true if the reactor may call ready() again after an error of the JVM

    private final Queue<ByteBuffer> queue =
            new ConcurrentLinkedQueue<>(); // stays intact if there is no memory for a new entry
    // the part of a short frame that is not sent yet
    private final ByteBuffer rest = ByteBuffer.allocate(MAX_SHORT_BYTES).limit(0);
    private long queuedBytes; // guarded by the lock of the queue, like queue, rest and closeWhenSent
    private boolean closeWhenSent;

    /** Takes over a non-blocking channel. Called on the reactor's thread, or before it starts. */
    public FrameLink(Reactor reactor, WireChannel channel, Owner owner) throws IOException {
        this.reactor = reactor;
        this.channel = channel;
        this.owner = owner;
        SocketChannel socket = channel.socketChannel();
        this.remote = String.valueOf(socket.getRemoteAddress());
        this.localAddress = socket.socket().getLocalAddress();
        this.insideHost = localAddress.isLoopbackAddress()
                || localAddress.equals(socket.socket().getInetAddress());
        // so that the kernel notices before the heartbeat time-out that a network works again
        NativeSockets.boundRepetitions(socket);
        this.key = reactor.register(socket, SelectionKey.OP_READ, this);
    }

    /** Permits the peer to send bodies of up to {@link FrameType#MAX_BODY_BYTES} bytes. */
    public void allowLongFrames() {
        maxBody = FrameType.MAX_BODY_BYTES;
    }

    /** Returns the address of the peer, for messages. */
    public String remote() {
        return remote;
    }

    /** Returns the address of this end of the connection. */
    public InetAddress localAddress() {
        return localAddress;
    }

    /**
     * Returns true if the peer is on this host. Then {@link #localAddress} does not show how other hosts reach this
     * host.
     */
    public boolean isInsideHost() {
        return insideHost;
    }

    @Override
    public void send(FrameType type, WireWriter content) {
        send(encode(type, content.toBytes()));
    }

    /** Returns the bytes of a frame, which several links may send. */
    public static ByteBuffer encode(FrameType type, byte[] content) {
        ByteBuffer frame = ByteBuffer.allocate(FrameType.HEADER_BYTES + content.length);
        return frame.putInt(content.length)
                .put((byte) type.ordinal())
                .put(content)
                .flip();
    }

    @Override
    public void send(ByteBuffer frame) {
        Exception failure = null;
        synchronized (queue) {
            if (closed || closeWhenSent) {
                return;
            }
            if (queuedBytes + frame.remaining() > MAX_QUEUED_BYTES) {
                failure = new IOException("queuedBytes=" + queuedBytes + ": the peer does not read");
            } else {
                boolean isFirst = isIdle();
                queue.add(frame.duplicate());
                queuedBytes += frame.remaining();
                if (!isFirst) {
                    return; // the reactor already waits for space in the socket
                }
                try {
                    if (!writeQueued()) {
                        requestWrite();
                    }
                } catch (IOException e) {
                    failure = e;
                } catch (Error noMemory) {
                    requestWrite(); // the reactor tries again to send the frame
                }
            }
        }
        if (failure != null) {
            Exception cause = failure;
            reactor.execute(() -> failed(cause));
        }
    }

    private boolean isIdle() {
        return queue.isEmpty() && !rest.hasRemaining() && channel.isFlushed();
    }

    private boolean writeQueued() throws IOException {
        if (rest.hasRemaining()) {
            reactor.countSent(channel.write(rest));
        }
        while (!rest.hasRemaining() && !queue.isEmpty()) {
            ByteBuffer first = queue.peek();
            int written = channel.write(first);
            queuedBytes -= written;
            reactor.countSent(written);
            if (first.hasRemaining()) {
                return false;
            }
            queue.remove();
        }
        return !rest.hasRemaining() && channel.flush();
    }

    /**
     * Sends a short frame from a direct buffer. Allocates nothing unless the connection is encrypted. Called on the
     * reactor's thread. The caller may reuse the buffer afterwards.
     *
     * @return false if the frame was not sent because earlier frames wait to be sent
     */
    @Override
    public boolean sendShort(ByteBuffer frame) {
        return sendShort(NOTHING, frame);
    }

    /** Like {@link #sendShort(ByteBuffer)}, but sends another short frame before. */
    boolean sendShort(ByteBuffer before, ByteBuffer frame) {
        try {
            synchronized (queue) {
                if (closed || closeWhenSent) {
                    return true;
                }
                if (!isIdle()) {
                    return false;
                }
                if (before.hasRemaining()) {
                    reactor.countSent(channel.write(before));
                }
                if (!before.hasRemaining()) {
                    reactor.countSent(channel.write(frame));
                }
                if (frame.hasRemaining()) {
                    rest.clear().put(before).put(frame).flip();
                    requestWrite();
                } else if (!channel.isFlushed()) {
                    requestWrite();
                }
            }
        } catch (IOException e) {
            failed(e);
        }
        return true;
    }

    /**
     * Makes the reactor send the queued frames. May be called by any thread. Allocates nothing, so that frames are sent
     * even if the heap is full.
     */
    private void requestWrite() {
        try {
            key.interestOpsOr(SelectionKey.OP_WRITE);
            reactor.wake();
        } catch (CancelledKeyException e) {
            LOG.debug("remote={}: nothing more can be sent, the connection is closed", remote);
        }
    }

    /** Closes the link once the queued frames have been sent. Does not call {@link Owner#onClosed}. */
    @Override
    public void closeWhenSent() {
        boolean now;
        synchronized (queue) {
            closeWhenSent = true;
            now = isIdle();
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
        // no event reports bytes that are decrypted already
        for (int frames = 0; (frames < 64 || channel.hasReceived()) && !closed; frames++) {
            if (bodyLength < 0 && !readHeader()) {
                return;
            }
            if (!readBody()) {
                return;
            }
            FrameType type = FrameType.of(header.get(4));
            WireReader content = body == null ? shortContent() : new WireReader(ByteBuffer.wrap(body, 0, bodyLength));
            mayRepeat = type.isRepeatable();
            if (!mayRepeat) {
                endFrame();
            }
            owner.onFrame(this, type, content);
            if (mayRepeat) {
                endFrame();
            }
            mayRepeat = true;
        }
    }

    private void endFrame() {
        header.clear();
        bodyLength = -1;
        body = null;
    }

    private boolean readHeader() throws IOException {
        if (header.hasRemaining()) {
            readSome(header);
        }
        if (header.hasRemaining()) {
            return false;
        }
        boolean isRepeatable = FrameType.of(header.get(4)).isRepeatable();
        int length = FrameType.checkLength(header.getInt(0), maxBody);
        boolean isShort = isRepeatable && length <= MAX_SHORT_BODY_BYTES;
        // allocated before any state changes, because the heap may be full
        body = isShort ? null : new byte[Math.min(length, FIRST_BODY_BYTES)];
        bodyLength = length;
        bodyRead = 0;
        return true;
    }

    private WireReader shortContent() {
        shortBody.clear().limit(bodyLength);
        return shortReader;
    }

    private boolean readBody() throws IOException {
        for (int bytes = 0; bodyRead < bodyLength; ) {
            if (body == null) {
                int n = readSome(shortBody.clear().limit(bodyLength).position(bodyRead));
                if (n == 0) {
                    return false;
                }
                bodyRead += n;
                continue;
            }
            if (bodyRead == body.length) {
                body = Arrays.copyOf(body, (int) Math.min(bodyLength, body.length * 2L)); // grows only as bytes arrive
            }
            ByteBuffer free = ByteBuffer.wrap(body, bodyRead, body.length - bodyRead);
            int n = readSome(free);
            bodyRead += n;
            bytes += n;
            // no event reports bytes that are decrypted already
            if (n == 0 || bytes >= MAX_TURN_BYTES && !channel.hasReceived()) {
                return bodyRead == bodyLength;
            }
        }
        return true;
    }

    private int readSome(ByteBuffer to) throws IOException {
        int n = channel.read(to);
        if (n < 0) {
            throw new EOFException("the connection was closed by the other end");
        }
        if (n > 0) {
            owner.onAlive(this);
        }
        return n;
    }

    @Override
    public boolean mayRepeat() {
        return mayRepeat;
    }

    @Override
    public boolean isUnfinished() {
        return !header.hasRemaining() || channel.hasReceived();
    }

    /**
     * Handles a failure of {@link #ready}. An error of the JVM is no fault of the connection, which stays open so that
     * this process can report the error. Any other failure closes the link.
     */
    @Override
    public void failed(Throwable cause) {
        if (cause instanceof Error) {
            mayRepeat = true;
            reactor.breakDown(cause);
        } else if (!closed) {
            close();
            owner.onClosed(this, Causes.describe(cause));
        }
    }

    /** Closes the link at once. Does not call {@link Owner#onClosed}. */
    @Override
    public void close() {
        closed = true;
        Reactor.closeQuietly(channel);
    }
}
