package io.jccl.bootstrap;

import io.jccl.bootstrap.RankRegistration.Cause;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The leader's connection to a rank that has not come to {@link ReformRendezvous}. The operating system of a living
 * rank accepts it; the rank itself answers once it reforms too. For one thread, that of the reactor.
 */
final class ReformProbe implements Reactor.Handler, FrameLink.Owner {

    /** What the leader learns. */
    interface Result {

        /** The rank's process has ended, or the rank has closed its communicator. */
        void ended();

        /** The rank does not take part in the leader's group. */
        void refused(String text);

        /** The leader's group failed on the rank. */
        void failed(Cause cause, String text);
    }

    private static final long ATTEMPT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Reactor reactor;
    private final List<InetSocketAddress> addresses;
    private final byte[] secret;
    private final int generation;
    private final RankRegistration.Hello hello;
    private final Result result;
    private final byte[] nonce = Handshake.randomBytes(Handshake.NONCE_BYTES);
    private SocketChannel channel; // null: none
    private ByteBuffer expected;
    private byte[] serverNonce; // null: not received
    private boolean connected;
    private boolean asked; // an address that leads to the rank's host
    private boolean firstRefused; // by the first such address
    private int next; // address
    private long nowNanos; // at the last tick
    private long deadlineNanos; // of the attempt, or of the back-off; 0: none

    ReformProbe(
            Reactor reactor,
            List<InetSocketAddress> addresses,
            byte[] secret,
            int generation,
            RankRegistration.Hello hello,
            Result result) {
        this.reactor = reactor;
        this.addresses = addresses;
        this.secret = secret;
        this.generation = generation;
        this.hello = hello;
        this.result = result;
    }

    void tick(long now) {
        nowNanos = now;
        if (!connected && (deadlineNanos == 0 || now - deadlineNanos >= 0)) {
            if (channel != null) {
                noteOutcome(new SocketTimeoutException("no answer"));
            }
            close();
            attempt();
        }
    }

    /** Tries the next address; after the last, the rank has ended if its best one refused. */
    private void attempt() {
        if (next == addresses.size()) {
            boolean ended = firstRefused;
            again();
            if (ended) {
                result.ended();
            }
            return;
        }
        deadlineNanos = nowNanos + ATTEMPT_NANOS;
        serverNonce = null;
        expected = ByteBuffer.allocate(Handshake.GREETING_BYTES);
        InetSocketAddress address = addresses.get(next++);
        try {
            channel = SocketChannel.open();
            channel.configureBlocking(false);
            if (channel.connect(address)) {
                reactor.register(channel, SelectionKey.OP_READ, this);
                greet();
            } else {
                reactor.register(channel, SelectionKey.OP_CONNECT, this);
            }
        } catch (IOException e) {
            failed(e);
        }
    }

    @Override
    public void ready(SelectionKey key) throws IOException {
        if (key.isConnectable()) {
            channel.finishConnect();
            key.interestOps(SelectionKey.OP_READ);
            greet();
            return;
        }
        if (channel.read(expected) < 0) {
            throw new EOFException("it closed the connection");
        }
        if (expected.hasRemaining()) {
            return;
        }
        if (serverNonce != null) {
            introduce();
        } else {
            serverNonce = Handshake.nonceOf(expected.array(), generation);
            write(Handshake.rankProof(secret, Handshake.Purpose.RENDEZVOUS, nonce, serverNonce));
            expected = ByteBuffer.allocate(Handshake.PROOF_BYTES);
        }
    }

    private void greet() throws IOException {
        connected = true;
        write(Handshake.greeting(nonce, generation));
    }

    private void introduce() throws IOException {
        byte[] proof = Handshake.serverProof(secret, Handshake.Purpose.RENDEZVOUS, nonce, serverNonce);
        if (!Handshake.same(proof, expected.array())) {
            throw new WireException("it does not know the secret");
        }
        FrameLink link = new FrameLink(reactor, channel, this); // takes over the key
        link.send(FrameType.HELLO, hello.write());
    }

    private void write(byte[] bytes) throws IOException {
        if (channel.write(ByteBuffer.wrap(bytes)) != bytes.length) {
            throw new IOException("its receive window is closed");
        }
    }

    @Override
    public void onFrame(FrameLink link, FrameType type, WireReader body) {
        switch (type) {
            case REFUSED -> result.refused(body.text(Codecs.MAX_TEXT));
            case FAILED -> {
                Cause cause = body.constant(Cause.class);
                body.ranks(Codecs.MAX_RANKS);
                result.failed(cause, body.text(Codecs.MAX_TEXT));
            }
            default -> throw new WireException("frame=" + type + ": not expected here");
        }
    }

    @Override
    public void onClosed(FrameLink link, String why) {
        again();
    }

    @Override
    public void failed(Throwable cause) {
        noteOutcome(cause);
        boolean was = connected;
        close();
        if (was) {
            again();
        } else {
            attempt();
        }
    }

    private void noteOutcome(Throwable cause) {
        InetSocketAddress address = addresses.get(next - 1);
        firstRefused |= !asked && !connected && NetworkStack.indicatesEnd(address, cause);
        asked |= NetworkStack.leadsThere(address);
    }

    /** Starts again after a back-off, which shows whether a rank that has closed a connection has ended. */
    private void again() {
        close();
        next = 0;
        firstRefused = false;
        asked = false;
        deadlineNanos = nowNanos + BACKOFF_NANOS;
    }

    void close() {
        connected = false;
        if (channel != null) {
            Reactor.closeQuietly(channel);
            channel = null;
        }
    }
}
