package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.search.ChannelGraph;
import io.jccl.search.Pattern;
import io.jccl.search.PeerRates;
import io.jccl.search.Rail;
import io.jccl.topology.PathType;
import io.jccl.tuning.HostTraits;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SurveyCodecTest {

    // Offsets of values in an encoded survey.
    private static final int CORES = 8;
    private static final int GPU = 12;
    private static final int MIN_CAPABILITY = 13;
    private static final int AMD = 21;
    private static final int SWITCH = 22;
    private static final int PEERS = 30;
    private static final int APART = PEERS + 4 * 8;
    private static final int RING = APART + 1 + 4;

    private static final List<Integer> RANKS = List.of(3, 5, 9);
    private static final ChannelGraph RINGS = Found.rings(
            24,
            12.5,
            PathType.NVL,
            PathType.PXN,
            true,
            List.of(List.of(9, 3, 5), List.of(5, 3, 9)),
            List.of(new Rail(0, 1), new Rail(1, 0)));
    private static final ChannelGraph TREES = Found.trees(
            Pattern.SPLIT_TREE,
            Found.rings(30, 12.5, PathType.NVB, PathType.PHB, false, List.of(List.of(3, 5, 9)), List.of()));
    private static final MachineSurvey HOST = new MachineSurvey(
            new RankChannels(3, "a", true, RINGS, TREES),
            new HostTraits(70, 90, true, 370.8, new PeerRates(52.9, 53, 370.8, 12), true, 3),
            50,
            12);
    private static final ChannelGraph CHAINS = new ChannelGraph(
            Pattern.TREE,
            20,
            12.5,
            PathType.NVL,
            PathType.PIX,
            false,
            List.of(List.of(5, 9, 3)),
            List.of(new Rail(1, 1)));
    private static final MachineSurvey GPUS = new MachineSurvey(
            new RankChannels(3, "a", true, RINGS, TREES, Optional.of(CHAINS)),
            new HostTraits(70, 90, true, 370.8, PeerRates.UNLIMITED, false, 1),
            50,
            12);
    private static final SurveyCodec.Found FOUND = new SurveyCodec.Found(HOST, Optional.empty());

    static byte[] bytesOfBoth() {
        return SurveyCodec.encode(new SurveyCodec.Found(HOST, Optional.of(GPUS)), true);
    }

    @Test
    void surveysAreDecodedAsTheyWereEncoded() {
        assertThat(SurveyCodec.decode(3, "a", RANKS, SurveyCodec.encode(FOUND, true)))
                .isEqualTo(FOUND);
        SurveyCodec.Found both = new SurveyCodec.Found(HOST, Optional.of(GPUS));
        assertThat(SurveyCodec.decode(3, "a", RANKS, SurveyCodec.encode(both, true)))
                .isEqualTo(both);
    }

    @Test
    void onlyTheLowestRankOfAHostSendsOrders() {
        byte[] bytes = SurveyCodec.encode(FOUND, false);
        SurveyCodec.Found read = SurveyCodec.decode(5, "a", RANKS, bytes);
        assertThat(read.host().channels().rings()).isEqualTo(RINGS.withoutOrders());
        assertThatThrownBy(() -> SurveyCodec.decode(3, "a", RANKS, bytes))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("orders=0: expected 1 to 64");
        assertThatThrownBy(() -> SurveyCodec.decode(5, "a", RANKS, SurveyCodec.encode(FOUND, true)))
                .hasMessageContaining("orders=2: expected none from a rank that is not its host's lowest");
    }

    @Test
    void separatelyFoundChainsComeFromTheLowestRankAndHaveRails() {
        SurveyCodec.Found chained = new SurveyCodec.Found(GPUS, Optional.empty());
        SurveyCodec.Found other = SurveyCodec.decode(5, "a", RANKS, SurveyCodec.encode(chained, false));
        assertThat(other.host().channels().chains()).isEmpty();
        byte[] bytes = SurveyCodec.encode(chained, true);
        int withRails = bytes.length - 1 - 3 * 4 - 2 * 4 - 1 - 1;
        assertThat(bytes[withRails]).isEqualTo((byte) 1);
        byte[] without = Arrays.copyOf(patched(bytes, withRails, (byte) 0), bytes.length - 2 * 4);
        without[without.length - 1] = 0; // no survey of GPUs
        refuses(without, "chains of orders=1 rails=0: expected some of the lowest rank");
    }

    @Test
    void invalidBytesAreRefusedWithTheRankAndTheReason() {
        byte[] bytes = SurveyCodec.encode(FOUND, true);
        refuses(Arrays.copyOf(bytes, bytes.length - 1), "rank=3", "ends early", "same JCCL version");
        refuses(Arrays.copyOf(bytes, bytes.length + 1), "remaining=1");
        refuses(patched(bytes, 0, (byte) 0xc0), "netGBps=-50");
        refuses(patched(bytes, CORES, (byte) 0x80), "cores=-");
        refuses(patched(bytes, GPU, (byte) 2), "flag=2: expected 0 or 1");
        refuses(patched(bytes, MIN_CAPABILITY + 2, (byte) 1), "minCapability=326 maxCapability=90");
        refuses(patched(bytes, AMD, (byte) 2), "flag=2: expected 0 or 1");
        refuses(patched(bytes, SWITCH, (byte) 0xc0), "switchGBps=-370.8");
        refuses(patched(bytes, PEERS, (byte) 0xc0), "all=-52.9");
        refuses(patched(bytes, APART, (byte) 2), "flag=2: expected 0 or 1");
        refuses(patched(bytes, APART + 1, (byte) 0x80), "ranksPerDevice=-");
        refuses(patched(bytes, RING, (byte) 4), "Pattern=4: expected 0 to 3");
        refuses(patched(bytes, RING, (byte) 1), "rings=TREE");
        refuses(patched(bytes, RING + 17, (byte) -1), "PathType is missing");
        byte[] otherRank = bytes.clone();
        ByteBuffer.wrap(otherRank).putInt(RING + 22, 4);
        refuses(otherRank, "rank=4: expected each rank of its host once");
        byte[] noBandwidth = bytes.clone();
        ByteBuffer.wrap(noBandwidth).putDouble(RING + 1, Double.NaN);
        refuses(noBandwidth, "bwIntra=NaN");
    }

    /** All bytes are read or refused, without another exception and without a large allocation. */
    @Test
    void garbageIsReadOrRefused() {
        Random random = new Random(3);
        byte[] good = SurveyCodec.encode(FOUND, true);
        int read = 0;
        for (int round = 0; round < 100_000; round++) {
            byte[] bytes = round % 4 == 0 ? new byte[random.nextInt(200)] : good.clone();
            if (round % 4 == 0) {
                random.nextBytes(bytes);
            } else {
                for (int i = random.nextInt(3); i >= 0; i--) {
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
                }
            }
            try {
                SurveyCodec.Found found = SurveyCodec.decode(3, "a", RANKS, bytes);
                assertThat(found.host().channels().rings().orders())
                        .allSatisfy(order -> assertThat(order).containsExactlyInAnyOrderElementsOf(RANKS));
                read++;
            } catch (BootstrapException e) {
                assertThat(e).hasMessageStartingWith("rank=3 bytes=" + bytes.length);
            }
        }
        assertThat(read).isBetween(1, 99_999);
    }

    private static byte[] patched(byte[] bytes, int at, byte value) {
        byte[] patched = bytes.clone();
        patched[at] = value;
        return patched;
    }

    private static void refuses(byte[] bytes, String... parts) {
        assertThatThrownBy(() -> SurveyCodec.decode(3, "a", RANKS, bytes))
                .isInstanceOf(BootstrapException.class)
                .message()
                .contains(parts);
    }
}
