package io.jccl.membership;

import io.jccl.rendezvous.RankRegistration;
import io.jccl.rendezvous.RankRegistration.Cause;
import io.jccl.wire.EncryptedHandshake;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.Handshake;
import io.jccl.wire.Limits;
import io.jccl.wire.NetworkStack;
import io.jccl.wire.Reactor;
import io.jccl.wire.WireChannel;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The leader's connection to a rank that has not come to {@link ReformRendezvous}. The operating system of a living
 * rank accepts the connection; the rank itself answers once it also reforms the communicator. Used only by the
 * reactor's thread.
 */
final class ReformProbe implements Reactor.Handler, FrameLink.Owner {

    /** Learns the result of a probe. */
    interface Result {

        /** Called if the rank's process has ended, or the rank has closed its communicator. */
        void ended();

        /** Called if the rank does not take part in the leader's group. */
        void refused(String text);

        /** Called if the leader's group has failed on the rank. */
        void failed(Cause cause, String text);
    }

    private static final long ATTEMPT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Reactor reactor;
    private final List<InetSocketAddress> addresses;
    private final Handshake.Key key;
    private final RankRegistration.Hello hello;
    private final Result result;
    private final byte[] nonce = Handshake.randomBytes(Handshake.NONCE_BYTES);
    private SocketChannel channel; // null if there is no connection
    private ByteBuffer expected;
    private byte[] serverNonce; // null until the nonce was received
    private EncryptedHandshake encrypting; // null before this end has greeted, and without encryption
    private boolean connected;
    private boolean asked; // true once an address that leads to the rank's host was tried
    private boolean firstRefused; // true if the first address that leads to the rank's host refused
    private int next; // index of the next address
    private long nowNanos; // time of the last tick
    private long deadlineNanos; // end of the attempt or of the back-off; 0 before the first attempt

    ReformProbe(
            Reactor reactor,
            List<InetSocketAddress> addresses,
            Handshake.Key key,
            RankRegistration.Hello hello,
            Result result) {
        this.reactor = reactor;
        this.addresses = addresses;
        this.key = key;
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

    /** Tries the next address. After the last one, reports that the rank has ended if its best address refused. */
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
        encrypting = null;
        expected = ByteBuffer.allocate(key.encrypted() ? EncryptedHandshake.GREETING_BYTES : Handshake.GREETING_BYTES);
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
    public void ready(SelectionKey ready) throws IOException {
        if (ready.isConnectable()) {
            channel.finishConnect();
            ready.interestOps(SelectionKey.OP_READ);
            greet();
            return;
        }
        if (channel.read(expected) < 0) {
            throw new EOFException("it closed the connection");
        }
        if (expected.hasRemaining()) {
            return;
        }
        if (encrypting != null) {
            introduceEncrypted();
        } else if (serverNonce != null) {
            introduce();
        } else {
            serverNonce = Handshake.nonceOf(expected.array(), key.generation());
            write(Handshake.rankProof(key.secret(), key.purpose(), nonce, serverNonce));
            expected = ByteBuffer.allocate(Handshake.PROOF_BYTES);
        }
    }

    private void greet() throws IOException {
        connected = true;
        if (key.encrypted()) {
            encrypting = new EncryptedHandshake(key.secret(), key.purpose(), key.generation());
            write(encrypting.greeting());
        } else {
            write(Handshake.greeting(nonce, key.generation()));
        }
    }

    private void introduceEncrypted() throws IOException {
        byte[] message = expected.array();
        Handshake.requireEncrypted(message, key.generation());
        WireChannel wire = new WireChannel(channel);
        write(encrypting.complete(Arrays.copyOfRange(message, Handshake.HEADER_BYTES, message.length), wire));
        sayHello(wire);
    }

    private void introduce() throws IOException {
        byte[] proof = Handshake.serverProof(key.secret(), key.purpose(), nonce, serverNonce);
        if (!Handshake.same(proof, expected.array())) {
            throw new WireException("it does not know the secret");
        }
        sayHello(new WireChannel(channel));
    }

    private void sayHello(WireChannel wire) throws IOException {
        FrameLink link = new FrameLink(reactor, wire, this); // the link takes over the selection key
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
            case REFUSED -> result.refused(body.text(Limits.MAX_TEXT));
            case FAILED -> {
                Cause cause = body.constant(Cause.class);
                body.ranks(Limits.MAX_RANKS);
                result.failed(cause, body.text(Limits.MAX_TEXT));
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

    /**
     * Tries all addresses again after a back-off. If the rank has closed the connection, the new attempts show whether
     * it has ended.
     */
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
