package io.jccl.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the handshake and the records of encrypted connections. */
@Timeout(120)
class NoiseTest {

    /**
     * The vector of Noise_NNpsk0_25519_AESGCM_SHA256 in tests/vectors/cacophony.txt of github.com/mcginty/snow, which
     * github.com/haskell-cryptography/cacophony has published. Also in native/test/noise_test.cc.
     */
    private static final String PROLOGUE = "4a6f686e2047616c74";

    private static final String PRE_SHARED = "54686973206973206d7920417573747269616e20706572737065637469766521";
    private static final String INITIATOR = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a";
    private static final String RESPONDER = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b";
    private static final String HASH = "9f3b1f9afd7767767b5b9d1069844a6154fdbdcc36dfb3e31c0fffc5c973d530";

    private static final String[][] MESSAGES = {
        {
            "4c756477696720766f6e204d69736573",
            "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
                    + "7c37a89fc17813788d30df2d59501d6066f5f8aecc3406bbd9829f2d24a531b1"
        },
        {
            "4d757272617920526f746862617264",
            "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
                    + "2f29d79368ef9de4e1ae7a362fb05bf0ad668e026bf5714554497b3a720461"
        },
        {"462e20412e20486179656b", "7c01e898a6201f36aecee532e29cd0b7f8ffa29d3366ad0dce39a6"},
        {"4361726c204d656e676572", "a9ff535aace3db6a1da1a7fb00fe2de2622bb373abad9fb42c00e0"},
        {"4a65616e2d426170746973746520536179", "6cfc49a3e65472edc2d0152abe5ce950170a8a47c959f30bd48b5f0aacf29adbfd"},
        {
            "457567656e2042f6686d20766f6e2042617765726b",
            "9bc86e6d974ed21ba04604a94aa68de21677eb409ead070c0cd569b069ee19ba142aa4c1a9"
        }
    };

    private static final byte[] NOTHING = new byte[0];
    private static final byte[] SECRET = "sixteen letters!".getBytes(StandardCharsets.US_ASCII);
    private static final Handshake.Key KEY = new Handshake.Key(Handshake.Purpose.RENDEZVOUS, SECRET, 3, true);

    private static byte[] hex(String text) {
        return HexFormat.of().parseHex(text);
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    private static NoiseHandshake vector(boolean initiator) {
        return new NoiseHandshake(initiator, hex(PRE_SHARED), hex(PROLOGUE), hex(initiator ? INITIATOR : RESPONDER));
    }

    @Test
    void bothEndsProduceThePublishedVector() {
        NoiseHandshake initiator = vector(true);
        NoiseHandshake responder = vector(false);
        byte[] first = initiator.write(hex(MESSAGES[0][0]));
        assertThat(hex(first)).isEqualTo(MESSAGES[0][1]);
        assertThat(hex(responder.read(first))).isEqualTo(MESSAGES[0][0]);
        byte[] second = responder.write(hex(MESSAGES[1][0]));
        assertThat(hex(second)).isEqualTo(MESSAGES[1][1]);
        assertThat(hex(initiator.read(second))).isEqualTo(MESSAGES[1][0]);
        assertThat(hex(initiator.hash())).isEqualTo(HASH);
        assertThat(hex(responder.hash())).isEqualTo(HASH);
        NoiseHandshake.Transport mine = initiator.split();
        NoiseHandshake.Transport theirs = responder.split();
        for (int i = 2; i < MESSAGES.length; i++) {
            NoiseHandshake.Transport from = i % 2 == 0 ? mine : theirs;
            NoiseHandshake.Transport to = i % 2 == 0 ? theirs : mine;
            byte[] sealed = from.sending().seal(NOTHING, ByteBuffer.wrap(hex(MESSAGES[i][0])));
            assertThat(hex(sealed)).isEqualTo(MESSAGES[i][1]);
            assertThat(hex(to.receiving().open(NOTHING, ByteBuffer.wrap(sealed))))
                    .isEqualTo(MESSAGES[i][0]);
        }
    }

    /** Both ends of a connection after its handshake. */
    record Ends(Records mine, Records theirs) {
        static Ends of(long rekeyRecords) {
            NoiseHandshake mine = new NoiseHandshake(true, hex(PRE_SHARED), NOTHING);
            NoiseHandshake theirs = new NoiseHandshake(false, hex(PRE_SHARED), NOTHING);
            theirs.read(mine.write(NOTHING));
            mine.read(theirs.write(NOTHING));
            return new Ends(new Records(mine.split(), rekeyRecords), new Records(theirs.split(), rekeyRecords));
        }
    }

    /** Feeds the bytes of a connection to an end, and returns what it has accepted. */
    private static byte[] received(Records end, byte[] bytes) {
        ByteBuffer from = ByteBuffer.wrap(bytes);
        ByteBuffer accepted = ByteBuffer.allocate(bytes.length);
        try {
            while (true) {
                ByteBuffer space = end.space();
                int n = Math.min(space.remaining(), from.remaining());
                space.put(from.slice().limit(n));
                from.position(from.position() + n);
                if (!end.isFull()) {
                    break;
                }
                end.filled();
                end.take(accepted);
            }
        } catch (WireException expected) {
            return Arrays.copyOf(accepted.array(), accepted.position());
        }
        return Arrays.copyOf(accepted.array(), accepted.position());
    }

    private static byte[] join(List<byte[]> parts) {
        ByteBuffer all =
                ByteBuffer.allocate(parts.stream().mapToInt(part -> part.length).sum());
        parts.forEach(all::put);
        return all.array();
    }

    /** Five records of different lengths, and their clear text. */
    private record Capture(Ends ends, List<byte[]> records, List<byte[]> texts) {
        static Capture make() {
            Ends ends = Ends.of(2);
            List<byte[]> records = new ArrayList<>();
            List<byte[]> texts = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                byte[] text = new byte[1 + 9 * i];
                Arrays.fill(text, (byte) ('a' + i));
                texts.add(text);
                records.add(ends.mine().seal(ByteBuffer.wrap(text)).array());
            }
            return new Capture(ends, records, texts);
        }

        byte[] bytes() {
            return join(records);
        }

        /** Returns the clear text of the records that end at or before an offset. */
        byte[] textBefore(int offset) {
            List<byte[]> whole = new ArrayList<>();
            int end = 0;
            for (int i = 0; i < records.size(); i++) {
                end += records.get(i).length;
                if (end <= offset) {
                    whole.add(texts.get(i));
                }
            }
            return join(whole);
        }
    }

    @Test
    void anUnchangedCaptureIsAccepted() {
        Capture capture = Capture.make();
        assertThat(received(capture.ends().theirs(), capture.bytes())).isEqualTo(join(capture.texts()));
    }

    @Test
    void aFlippedBitAnywhereEndsTheConnectionBeforeItsRecord() {
        int length = Capture.make().bytes().length;
        for (int offset = 0; offset < length; offset++) {
            Capture capture = Capture.make();
            byte[] bytes = capture.bytes();
            bytes[offset] ^= (byte) (1 << offset % 8);
            assertThat(received(capture.ends().theirs(), bytes))
                    .as("offset %d", offset)
                    .isEqualTo(capture.textBefore(offset));
        }
    }

    @Test
    void aCutAnywhereIsNoticedUnlessItIsBetweenRecords() {
        int length = Capture.make().bytes().length;
        for (int offset = 0; offset < length; offset++) {
            Capture capture = Capture.make();
            Records end = capture.ends().theirs();
            assertThat(received(end, Arrays.copyOf(capture.bytes(), offset))).isEqualTo(capture.textBefore(offset));
            int at = offset;
            boolean between = capture.textBefore(offset).length > 0
                    && capture.textBefore(offset).length > capture.textBefore(offset - 1).length;
            if (between || at == 0) {
                assertThat(end.space().position()).isZero();
            } else {
                assertThatThrownBy(end::requireWhole).hasMessageContaining("within an encrypted record");
            }
        }
    }

    @Test
    void bytesThatAreLeftOutAnywhereEndTheConnectionBeforeTheirRecord() {
        int length = Capture.make().bytes().length;
        for (int offset = 0; offset < length; offset++) {
            Capture capture = Capture.make();
            byte[] bytes = capture.bytes();
            byte[] shorter =
                    join(List.of(Arrays.copyOf(bytes, offset), Arrays.copyOfRange(bytes, offset + 1, bytes.length)));
            assertThat(received(capture.ends().theirs(), shorter)).isEqualTo(capture.textBefore(offset));
        }
    }

    @Test
    void repeatedAndReorderedRecordsEndTheConnection() {
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 5; j++) {
                Capture capture = Capture.make();
                List<byte[]> records = new ArrayList<>(capture.records());
                records.add(j, records.get(i)); // repeats a record, earlier or later
                int same = Math.min(i, j);
                byte[] expected = i == j || j == i + 1
                        ? join(capture.texts().subList(0, i + 1))
                        : join(capture.texts().subList(0, j));
                assertThat(received(capture.ends().theirs(), join(records)))
                        .as("record %d at %d of %d", i, j, same)
                        .isEqualTo(expected);
            }
        }
    }

    @Test
    void eachDirectionAndEachConnectionHasItsOwnKey() {
        Ends ends = Ends.of(Records.REKEY_RECORDS);
        byte[] text = new byte[32];
        byte[] mine = ends.mine().seal(ByteBuffer.wrap(text)).array();
        byte[] theirs = ends.theirs().seal(ByteBuffer.wrap(text)).array();
        byte[] other = Ends.of(Records.REKEY_RECORDS)
                .mine()
                .seal(ByteBuffer.wrap(text))
                .array();
        assertThat(mine).isNotEqualTo(theirs).isNotEqualTo(other);
        assertThat(received(ends.mine(), mine)).as("reflected").isEmpty();
        assertThat(received(ends.theirs(), other)).as("of another connection").isEmpty();
    }

    @Test
    void longTextsAreCutIntoRecords() {
        Ends ends = Ends.of(3);
        byte[] text = new byte[5 * Records.MAX_PLAIN_BYTES + 7];
        new Random(1).nextBytes(text);
        ByteBuffer from = ByteBuffer.wrap(text);
        List<byte[]> records = new ArrayList<>();
        while (from.hasRemaining()) {
            records.add(ends.mine().seal(from).array());
        }
        assertThat(records).hasSize(6);
        assertThat(received(ends.theirs(), join(records))).isEqualTo(text);
    }

    @Test
    void aHandshakeNeedsTheSameSecretPurposeAndHeader() {
        byte[] greeting = new EncryptedHandshake(SECRET, Handshake.Purpose.RENDEZVOUS, 3).greeting();
        assertThat(EncryptedHandshake.accept(greeting, List.of(KEY)).key()).isSameAs(KEY);
        Handshake.Key otherPurpose = new Handshake.Key(Handshake.Purpose.STATUS, SECRET, 3, true);
        Handshake.Key otherSecret = new Handshake.Key(Handshake.Purpose.RENDEZVOUS, new byte[16], 3, true);
        assertThat(EncryptedHandshake.accept(greeting, List.of(otherPurpose, otherSecret, KEY))
                        .key())
                .isSameAs(KEY);
        assertThatThrownBy(() -> EncryptedHandshake.accept(greeting, List.of(otherPurpose, otherSecret)))
                .hasMessage("its proof of the secret is wrong");
        greeting[Handshake.HEADER_BYTES - 1] ^= 1;
        assertThatThrownBy(() -> EncryptedHandshake.accept(greeting, List.of(KEY)))
                .hasMessage("its proof of the secret is wrong");
    }

    /** A public key of small order would make the shared secret known. */
    @Test
    void aPublicKeyOfSmallOrderIsRefused() {
        NoiseHandshake mine = vector(true);
        NoiseHandshake theirs = vector(false);
        theirs.read(mine.write(NOTHING));
        byte[] second = theirs.write(NOTHING);
        Arrays.fill(second, 0, NoiseHandshake.PUBLIC_BYTES, (byte) 0);
        assertThatThrownBy(() -> mine.read(second)).hasMessageContaining("public key that gives no secret");
    }

    @Test
    void aHundredThousandChangedHandshakesAreRefused() {
        Random random = new Random(47);
        EncryptedHandshake client = new EncryptedHandshake(SECRET, KEY.purpose(), KEY.generation());
        byte[] greeting = client.greeting();
        byte[] answer = EncryptedHandshake.accept(greeting, List.of(KEY)).answer();
        int refused = 0;
        for (int i = 0; i < 100_000; i++) {
            boolean ofServer = i % 10 == 0;
            byte[] changed = changed(ofServer ? answer : greeting, random);
            try {
                if (ofServer) {
                    NoiseHandshake initiator = vector(true);
                    initiator.write(NOTHING);
                    initiator.read(changed);
                } else {
                    EncryptedHandshake.accept(changed, List.of(KEY));
                }
            } catch (WireException e) {
                refused++;
            }
        }
        assertThat(refused).isEqualTo(100_000);
    }

    private static byte[] changed(byte[] message, Random random) {
        byte[] changed = message.clone();
        switch (random.nextInt(4)) {
            case 0 -> changed[random.nextInt(changed.length)] ^= (byte) (1 << random.nextInt(8));
            case 1 -> random.nextBytes(changed);
            case 2 -> changed = Arrays.copyOf(changed, random.nextInt(changed.length));
            default -> {
                int from = random.nextInt(changed.length);
                Arrays.fill(changed, from, changed.length, (byte) (changed[changed.length - 1] + 1));
            }
        }
        return changed;
    }
}
