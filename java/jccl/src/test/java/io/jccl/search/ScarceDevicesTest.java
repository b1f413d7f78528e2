package io.jccl.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.jccl.testing.Seeds;
import io.jccl.topology.GraphBuilder;
import io.jccl.topology.NodePaths;
import io.jccl.topology.Topology;
import io.jccl.topology.TopologyXmlReader;
import io.jccl.topology.Trimmer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests network devices that allow a limited number of channels ({@code maxconn}). */
@Timeout(300)
class ScarceDevicesTest {

    private static final long STEPS = 20_000;
    private static final double ROUNDING = 1e-9;

    /**
     * On the host {@code rails}, each of eight network cards has 48 GB/s, and each GPU has 370.8 by NVLink. Rings that
     * enter near one GPU and leave near another use the whole bandwidth of the cards; rings that return to their card
     * send by NVLink from every GPU. Rings of the first kind come in pairs, so that as many enter by a card as leave by
     * it: cards that allow one channel lose no bandwidth. The same holds between two sockets.
     */
    @ParameterizedTest
    @CsvSource({
        "rails, 1, 8, 384, 384",
        "rails, 2, 16, 384, 384",
        "rails, -1, 8, 384, 384",
        "two-sockets, 1, 2, 24, 24",
        "two-sockets, 2, 2, 24, 24",
        "cube-mesh, 1, 4, 48, 48",
        "shared-port, 1, 2, 12.5, 12.5"
    })
    void allLinksAreUsedByAsFewChannelsAsDevicesAllow(
            String host, int maxconn, int channels, double rings, double trees) {
        NodePaths paths = paths(text(host).replace("maxconn=\"65536\"", "maxconn=\"" + maxconn + "\""));
        ChannelSearch search = new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), true));
        ChannelGraph ring = search.search(Pattern.RING);
        ChannelGraph tree = search.searchTree(ring);
        assertThat(ring.interBandwidthGBps()).isCloseTo(rings, within(0.001));
        assertThat(tree.interBandwidthGBps()).isCloseTo(trees, within(0.001));
        assertThat(ring.channels()).isEqualTo(channels);
        assertThat(tree.channels()).isEqualTo(channels);
        ChannelChecker.check(paths, ring, host);
        ChannelChecker.check(paths, tree, host);
    }

    @Test
    void aDeviceThatAllowsNoChannelIsNotUsed() {
        NodePaths paths = paths(text("rails").replaceFirst("maxconn=\"65536\"", "maxconn=\"0\""));
        ChannelGraph ring =
                new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), true)).search(Pattern.RING);
        assertThat(ring.rails()).isNotEmpty().noneMatch(nets -> nets.in() == 0 || nets.out() == 0);
        assertThat(ring.interBandwidthGBps()).isCloseTo(7 * 48, within(0.001));
        ChannelChecker.check(paths, ring, "rails");
    }

    @Test
    void channelsAreThoseOfTheHostAloneIfNoDeviceAllowsAny() {
        NodePaths paths = paths(text("rails").replace("maxconn=\"65536\"", "maxconn=\"0\""));
        ChannelGraph ring =
                new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), true)).search(Pattern.RING);
        assertThat(ring.rails()).isEmpty();
        assertThat(ring.totalBandwidthGBps()).isCloseTo(370.8, within(0.001));
    }

    /** Two channels of 0.125 GB/s each would carry less than one channel of 48 GB/s. */
    @Test
    void noChannelIsAddedOverADeviceThatSlowsTheOthersDown() {
        String xml = text("rails")
                .replace("maxconn=\"65536\"", "maxconn=\"9\"")
                .replace("speed=\"400000\"", "speed=\"1000\"")
                .replaceFirst("speed=\"1000\"", "speed=\"400000\"")
                .replaceFirst("maxconn=\"9\"", "maxconn=\"1\"");
        NodePaths paths = paths(xml);
        ChannelSearch search = new ChannelSearch(paths, SearchOptions.forGpus(paths.topology(), true));
        ChannelGraph ring = search.search(Pattern.RING);
        assertThat(ring.rails()).containsExactly(new Rail(0, 0));
        assertThat(ring.interBandwidthGBps()).isCloseTo(48, within(0.001));
        assertThat(search.searchTree(ring).interBandwidthGBps()).isCloseTo(48, within(0.001));
    }

    @Test
    void channelsOfRandomHostsKeepToTheLimitsOfTheirDevices() {
        for (int seed = 0; seed < Seeds.of(1500); seed++) {
            search(seed, 8, STEPS);
        }
        for (int seed = 0; seed < Seeds.of(150); seed++) {
            search(seed, 40, STEPS);
        }
    }

    @Test
    void aRepeatedSearchWithoutStepsFindsTheSame() {
        for (int seed = 0; seed < Seeds.of(300); seed++) {
            assertThat(search(seed, 14, 0)).isEqualTo(search(seed, 14, 0));
        }
    }

    /** Whatever number of channels the devices allow, one channel by the best device is always possible. */
    @Test
    void manyChannelsCarryNoLessThanOne() {
        for (int seed = 0; seed < Seeds.of(300); seed++) {
            NodePaths paths = paths(RandomHost.scarceDescription(seed, 8));
            SearchOptions options = SearchOptions.forGpus(paths.topology(), true);
            List<ChannelGraph> one = search(paths, options.withChannels(1), "one, seed=" + seed);
            List<ChannelGraph> many = search(paths, options, "seed=" + seed);
            for (int kind = 0; kind < one.size(); kind++) {
                assertThat(many.get(kind).rails().isEmpty())
                        .as("seed=" + seed)
                        .isEqualTo(one.get(kind).rails().isEmpty());
                assertThat(many.get(kind).interBandwidthGBps())
                        .as("seed=" + seed + " " + many.get(kind).pattern())
                        .isGreaterThanOrEqualTo(one.get(kind).interBandwidthGBps() * (1 - ROUNDING));
            }
        }
    }

    /** A limit that no search reaches changes nothing. */
    @Test
    void aLimitThatNoSearchReachesChangesNothing() {
        for (int seed = 0; seed < Seeds.of(200); seed++) {
            String xml = RandomHost.description(seed, 8);
            List<ChannelGraph> limited = search(paths(xml.replace("'65536'", "'33'")), STEPS, "seed=" + seed);
            assertThat(limited).isEqualTo(search(paths(xml.replace("maxconn='65536'", "")), STEPS, "seed=" + seed));
        }
    }

    private static List<ChannelGraph> search(long seed, int maxGpus, long steps) {
        return search(paths(RandomHost.scarceDescription(seed, maxGpus)), steps, "seed=" + seed);
    }

    private static List<ChannelGraph> search(NodePaths paths, long steps, String what) {
        return search(paths, SearchOptions.forGpus(paths.topology(), true).withSteps(steps), what);
    }

    private static List<ChannelGraph> search(NodePaths paths, SearchOptions options, String what) {
        ChannelSearch search = new ChannelSearch(paths, options);
        ChannelGraph rings = search.search(Pattern.RING);
        assertThat(search.steps()).as(what).isLessThanOrEqualTo(search.maxSteps());
        ChannelChecker.check(paths, rings, what);
        ChannelGraph trees = search.searchTree(rings);
        ChannelChecker.check(paths, trees, what);
        return List.of(rings, trees);
    }

    private static NodePaths paths(String xml) {
        Topology whole = GraphBuilder.build(TopologyXmlReader.read(xml));
        int first = Topology.rankOf(whole.node(whole.endpoints().get(0)));
        return NodePaths.compute(Trimmer.trim(NodePaths.compute(whole), first, true));
    }

    private static String text(String host) {
        try (InputStream in = ScarceDevicesTest.class.getResourceAsStream(host + ".xml")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
