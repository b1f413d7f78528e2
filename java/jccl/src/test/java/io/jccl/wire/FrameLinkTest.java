package io.jccl.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class FrameLinkTest {

    private static final int LONG_BODY_BYTES = 8 << 20;

    private final BlockingQueue<String> events = new LinkedBlockingQueue<>();
    private final Reactor reactor = new Reactor("frame-link-test", System::nanoTime);
    private SocketChannel peer;
    private WireChannel ours;

    @BeforeEach
    void connect() throws IOException {
        try (ServerSocketChannel server =
                ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
            peer = SocketChannel.open(server.getLocalAddress());
            ours = new WireChannel(server.accept());
        }
    }

    @AfterEach
    void close() throws IOException {
        reactor.close();
        ours.close();
        peer.close();
    }

    private void startLink() throws IOException {
        ours.socketChannel().configureBlocking(false);
        FrameLink link = new FrameLink(reactor, ours, new FrameLink.Owner() {
            @Override
            public void onFrame(FrameLink from, FrameType type, WireReader body) {
                events.add("frame");
            }

            @Override
            public void onAlive(FrameLink from) {
                events.add("alive");
            }

            @Override
            public void onClosed(FrameLink from, String why) {
                events.add("closed: " + why);
            }
        });
        link.allowLongFrames();
        reactor.start();
    }

    private void encryptBoth(WireChannel theirs) {
        NoiseTest.Ends ends = NoiseTest.Ends.of(Records.REKEY_RECORDS);
        theirs.encrypt(ends.mine());
        ours.encrypt(ends.theirs());
    }

    private static ByteBuffer longFrame() {
        return FrameLink.encode(FrameType.GATHER, new byte[LONG_BODY_BYTES]);
    }

    private String nextEvent() throws InterruptedException {
        return events.poll(20, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void eachPartOfALongFrameShowsThatThePeerIsAlive(boolean encrypted) throws Exception {
        WireChannel theirs = new WireChannel(peer);
        if (encrypted) {
            encryptBoth(theirs);
        }
        startLink();
        ByteBuffer frame = longFrame();
        for (int part = 0; part < 3; part++) {
            theirs.write(frame.duplicate().position(part * 1000).limit((part + 1) * 1000));
            assertThat(nextEvent()).isEqualTo("alive");
            while ("alive".equals(events.peek())) {
                events.remove(); // the header is read by a call of its own
            }
        }
        assertThat(events).doesNotContain("frame");
    }

    @Test
    void theReactorReadsALongFrameInSeveralTurnsAndLosesNothing() throws Exception {
        WireChannel theirs = new WireChannel(peer);
        encryptBoth(theirs);
        startLink();
        for (ByteBuffer frame = longFrame(); frame.hasRemaining(); ) {
            theirs.write(frame);
        }
        String event = nextEvent();
        while ("alive".equals(event)) {
            event = nextEvent();
        }
        assertThat(event).isEqualTo("frame");
    }

    @Test
    void oneWriteEncryptsABoundedNumberOfBytesHoweverFastThePeerReads() throws Exception {
        WireChannel theirs = new WireChannel(peer);
        encryptBoth(theirs);
        startLink();
        assertThat(theirs.write(longFrame())).isEqualTo(WireChannel.MAX_WRITE_BYTES); // a blocking channel takes all
    }
}
