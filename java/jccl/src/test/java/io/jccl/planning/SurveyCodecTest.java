package io.jccl.init;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.plan.Found;
import io.jccl.search.Rail;
import io.jccl.search.Pattern;
import io.jccl.search.ChannelGraph;
import io.jccl.BootstrapException;
import io.jccl.plan.RankChannels;
import io.jccl.topology.PathType;
import io.jccl.tuning.MachineTraits;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ChannelsCodecTest {

    private static final List<Integer> MACHINE = List.of(3, 5, 9);
    private static final ChannelGraph RINGS = Found.rings(
            24,
            12.5,
            PathType.NVL,
            PathType.PXN,
            true,
            List.of(List.of(9, 3, 5), List.of(5, 3, 9)),
            List.of(new Rail(0, 1), new Rail(1, 0)));
    private static final ChannelGraph TREES =
            Found.rings(30, 12.5, PathType.NVB, PathType.PHB, false, List.of(List.of(3, 5, 9)), List.of());
    private static final LocalTopology.Found FOUND = new LocalTopology.Found(
            new RankChannels(3, "a", true, RINGS, TREES, Pattern.SPLIT_TREE), 50, new MachineTraits(70, 90, true));

    @Test
    void reads_what_it_wrote() {
        assertThat(ChannelsCodec.decode(3, "a", MACHINE, ChannelsCodec.encode(FOUND, true)))
                .isEqualTo(FOUND);
    }

    @Test
    void only_the_lowest_rank_of_a_machine_sends_orders() {
        byte[] bytes = ChannelsCodec.encode(FOUND, false);
        LocalTopology.Found read = ChannelsCodec.decode(5, "a", MACHINE, bytes);
        assertThat(read.channels().rings()).isEqualTo(RINGS.withoutOrders());
        assertThatThrownBy(() -> ChannelsCodec.decode(3, "a", MACHINE, bytes))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("orders=0: expected 1 to 64");
        assertThatThrownBy(() -> ChannelsCodec.decode(5, "a", MACHINE, ChannelsCodec.encode(FOUND, true)))
                .hasMessageContaining("orders=2: expected none from a rank that is not its machine's lowest");
    }

    @Test
    void names_the_rank_and_what_is_wrong() {
        byte[] bytes = ChannelsCodec.encode(FOUND, true);
        refuses(Arrays.copyOf(bytes, bytes.length - 1), "rank=3", "ends too early", "same JCCL version");
        refuses(Arrays.copyOf(bytes, bytes.length + 1), "remaining=1: expected no more bytes");
        refuses(patched(bytes, 0, (byte) 0x80), "netGBps=-50");
        refuses(patched(bytes, 8, (byte) 2), "gpu=2: expected 0 or 1");
        refuses(patched(bytes, 9, (byte) 3), "treeShape=3: expected 0 to 2");
        refuses(patched(bytes, 10, (byte) 1), "minCapability=326 maxCapability=90");
        refuses(patched(bytes, 14, (byte) 2), "amdProcessors=2: expected 0 or 1");
        refuses(patched(bytes, 31, (byte) -1), "typeIntra=255: expected 0 to");
        byte[] otherRank = bytes.clone();
        ByteBuffer.wrap(otherRank).putInt(36, 4);
        refuses(otherRank, "rank=4: expected each rank of its machine once");
        byte[] noBandwidth = bytes.clone();
        ByteBuffer.wrap(noBandwidth).putDouble(15, Double.NaN);
        refuses(noBandwidth, "bwIntra=NaN");
    }

    /** Whatever arrives, it is read or refused; nothing else happens, and nothing big is allocated for it. */
    @Test
    void garbage_is_read_or_refused() {
        Random random = new Random(3);
        byte[] good = ChannelsCodec.encode(FOUND, true);
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
                LocalTopology.Found found = ChannelsCodec.decode(3, "a", MACHINE, bytes);
                assertThat(found.channels().rings().orders())
                        .allSatisfy(order -> assertThat(order).containsExactlyInAnyOrderElementsOf(MACHINE));
                read++;
            } catch (BootstrapException e) {
                assertThat(e).hasMessageStartingWith("rank=3 bytes=" + bytes.length);
            }
        }
        assertThat(read).isBetween(1, 99_999);
    }

    private static byte[] patched(byte[] bytes, int at, byte value) {
        byte[] patched = bytes.clone();
        patched[at] = at == 0 ? (byte) (patched[at] ^ value) : value;
        return patched;
    }

    private static void refuses(byte[] bytes, String... parts) {
        assertThatThrownBy(() -> ChannelsCodec.decode(3, "a", MACHINE, bytes))
                .isInstanceOf(BootstrapException.class)
                .message()
                .contains(parts);
    }
}
