package io.jccl.rendezvous;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.internal.Causes;
import io.jccl.wire.EncryptedHandshake;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.Limits;
import io.jccl.wire.RankList;
import io.jccl.wire.Reactor;
import io.jccl.wire.WireChannel;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.io.IOException;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Set;
import java.util.SortedSet;
import java.util.concurrent.TimeUnit;

/**
 * A rank's side of a connection until the server admits the rank. Blocks; every read has a deadline. For use by one
 * thread.
 */
public final class FrameStream implements AutoCloseable {

    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final WireChannel channel;
    private boolean broken;

    FrameStream(SocketChannel channel) {
        this.channel = new WireChannel(channel);
    }

    void write(byte[] bytes) throws IOException {
        ByteBuffer out = ByteBuffer.wrap(bytes);
        while (out.hasRemaining() || !channel.flush()) {
            channel.write(out);
        }
    }

    /** Reads bytes by a deadline of {@link System#nanoTime}. */
    byte[] read(int n, long deadlineNanos) throws IOException {
        return channel.read(n, deadlineNanos);
    }

    /**
     * Completes the handshake of an encrypted connection.
     *
     * @param message the server's message after its header
     * @throws WireException if the server does not know the secret
     */
    void encrypt(EncryptedHandshake handshake, byte[] message) throws IOException {
        ByteBuffer confirmation = ByteBuffer.wrap(handshake.complete(message, channel));
        while (confirmation.hasRemaining()) {
            channel.socketChannel().write(confirmation);
        }
    }

    /** A frame that was read. */
    public record Frame(FrameType type, WireReader body) {}

    /**
     * Reads a frame. A frame that has begun by the deadline is read to its end, so that a late frame is never cut in
     * two.
     */
    public Frame readFrame(long deadlineNanos) throws IOException {
        return readFrame(deadlineNanos, Limits.MAX_RANKS * 4 + Limits.MAX_TEXT * 8);
    }

    /** Reads a frame whose body is at most {@code maxLength} bytes long. */
    public Frame readFrame(long deadlineNanos, int maxLength) throws IOException {
        byte[] first = read(1, deadlineNanos);
        long restNanos = Math.max(deadlineNanos, System.nanoTime() + GRACE_NANOS);
        ByteBuffer header = ByteBuffer.allocate(FrameType.HEADER_BYTES)
                .put(first)
                .put(read(FrameType.HEADER_BYTES - 1, restNanos))
                .flip();
        int length = FrameType.checkLength(header.getInt(), maxLength);
        FrameType type = FrameType.of(header.get());
        return new Frame(type, new WireReader(read(length, restNanos)));
    }

    /**
     * Sends this rank's hello and waits until all ranks have come.
     *
     * @param who this rank, for messages
     * @param hello the first frame
     * @param atRankZero true if the server is in the process of rank 0
     * @return the blob that the server sends when all ranks have come
     * @throws BootstrapException if this rank is refused, or the connection breaks
     * @throws PeerFailedException if ranks left meanwhile; names them
     * @throws CommunicationTimeoutException if not all ranks came in time; names the missing ranks
     * @throws InterruptedCommunicationException if this thread is interrupted; the server sees this rank leave
     */
    public byte[] awaitWelcome(
            String who, RankRegistration.Hello hello, boolean atRankZero, long initMillis, long deadlineNanos) {
        int size = hello.size();
        try {
            writeFrame(FrameType.HELLO, hello.write());
            try {
                return welcome(who, readFrame(deadlineNanos), size);
            } catch (SocketTimeoutException late) {
                writeFrame(FrameType.GIVE_UP, new WireWriter().text(RankList.duration(initMillis), Limits.MAX_TEXT));
                return welcome(who, readFrame(System.nanoTime() + GRACE_NANOS), size);
            }
        } catch (SocketTimeoutException e) {
            throw new CommunicationTimeoutException(
                    who + ": the server did not answer within initTimeoutMillis=" + initMillis
                            + " or after; is the process of rank 0 stopped?",
                    Set.of(0),
                    e);
        } catch (IOException | WireException e) {
            throw lost(who, atRankZero, e);
        }
    }

    /**
     * Returns true if the connection is closed or broken. A living server closes the connection only after this rank
     * has left. Waits at most a millisecond.
     *
     * @throws JcclException the failure, if the server has sent one
     */
    public boolean hasEnded(String who, int size) {
        try {
            welcome(who, readFrame(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1)), size);
            return false;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (IOException | WireException e) {
            return true;
        }
    }

    /** Returns true if {@link #awaitWelcome} failed because the connection was closed or broken. */
    public boolean isBroken() {
        return broken;
    }

    private JcclException lost(String who, boolean atRankZero, Exception e) {
        if (Thread.currentThread().isInterrupted()) {
            return new InterruptedCommunicationException(
                    who + " was interrupted while it waited for the other ranks to come", e);
        }
        broken = true;
        String text = who + ": lost the connection to " + (atRankZero ? "rank 0" : "the process that created the id")
                + " during initialisation: " + Causes.describe(e);
        return atRankZero
                ? new PeerFailedException(
                        text + "; its process ended, or its thread was interrupted: look into its log", Set.of(0), e)
                : new BootstrapException(text + "; look into its log", e);
    }

    /** Sends the rendezvous server a FIN, because this rank does not need it any more. */
    public void leave() {
        try {
            writeFrame(FrameType.FIN, new WireWriter());
        } catch (IOException e) {
            close();
        }
    }

    public void writeFrame(FrameType type, WireWriter content) throws IOException {
        write(FrameLink.encode(type, content.toBytes()).array());
    }

    /** Returns the blob of a server's welcome, or throws the failure that the server reports. */
    public static byte[] welcome(String who, Frame frame, int size) {
        WireReader body = frame.body();
        switch (frame.type()) {
            case WELCOME -> {
                byte[] blob = body.blob(FrameType.MAX_HELLO_BYTES);
                body.end();
                return blob;
            }
            case REFUSED -> throw new BootstrapException(who + " was refused: " + body.text(Limits.MAX_TEXT));
            case FAILED -> throw failure(who, body, size);
            default -> throw new WireException("frame=" + frame.type() + ": not expected during initialisation");
        }
    }

    private static JcclException failure(String who, WireReader body, int size) {
        RankRegistration.Cause cause = body.constant(RankRegistration.Cause.class);
        SortedSet<Integer> ranks = body.ranks(size);
        String text = body.text(Limits.MAX_TEXT) + "; " + who + " gives up";
        return switch (cause) {
            case MISSING -> new CommunicationTimeoutException(text, ranks, null);
            case LOST -> new PeerFailedException(text, ranks, null);
            case REFUSED -> new BootstrapException(text);
        };
    }

    public InetAddress localAddress() {
        return channel.socketChannel().socket().getLocalAddress();
    }

    /** Returns the channel in non-blocking mode. This stream must not be used any more. */
    public WireChannel release() throws IOException {
        channel.socketChannel().socket().setSoTimeout(0);
        channel.socketChannel().configureBlocking(false);
        return channel;
    }

    @Override
    public void close() {
        Reactor.closeQuietly(channel);
    }
}
