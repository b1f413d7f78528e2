package io.jccl.planning;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.List;

/** Checks the properties that every plan must have, whatever it was built from. */
public final class PlanChecks {

    private PlanChecks() {}

    /** Checks the rings and trees of all channels. */
    public static void check(Plan plan) {
        for (int channel = 0; channel < plan.channels(); channel++) {
            ringVisitsEveryRankOnce(plan, channel);
            treeSpans(plan, channel);
            treeIsAChainInsideEachHost(plan, channel);
            if (plan.hosts().size() > 1) {
                treeFollowsTheDoubleBinaryTree(plan, channel);
            }
        }
        innerHostsOfOneTreeAreLeavesOfTheOther(plan);
    }

    /** Requires that two plans are equal for every rank. */
    public static void assertSame(Plan one, Plan other) {
        assertThat(other.channels()).isEqualTo(one.channels());
        assertThat(other.ringGraph()).isEqualTo(one.ringGraph());
        assertThat(other.treeGraph()).isEqualTo(one.treeGraph());
        for (int channel = 0; channel < one.channels(); channel++) {
            assertThat(other.ring(channel)).isEqualTo(one.ring(channel));
            for (int rank = 0; rank < one.size(); rank++) {
                assertThat(other.tree(channel, rank)).isEqualTo(one.tree(channel, rank));
            }
        }
    }

    private static void ringVisitsEveryRankOnce(Plan plan, int channel) {
        int[] ring = plan.ring(channel);
        BitSet visited = new BitSet();
        int crossings = 0;
        for (int i = 0; i < ring.length; i++) {
            visited.set(ring[i]);
            crossings += plan.sameHost(ring[i], ring[(i + 1) % ring.length]) ? 0 : 1;
        }
        assertThat(ring).hasSize(plan.size());
        assertThat(visited.cardinality()).isEqualTo(plan.size());
        assertThat(visited.length()).isEqualTo(plan.size());
        assertThat(crossings).isEqualTo(plan.hostCrossings());
    }

    /** Requires that a tree has one root, which reaches every rank once, and that every child names its parent. */
    private static void treeSpans(Plan plan, int channel) {
        BitSet reached = new BitSet();
        Deque<Integer> next = new ArrayDeque<>();
        for (int rank = 0; rank < plan.size(); rank++) {
            if (plan.tree(channel, rank).isRoot()) {
                next.add(rank);
            }
        }
        assertThat(next).as("roots of channel %d", channel).hasSize(1);
        while (!next.isEmpty()) {
            int rank = next.remove();
            assertThat(reached.get(rank)).as("rank %d reached before", rank).isFalse();
            reached.set(rank);
            for (int child : plan.tree(channel, rank).down()) {
                assertThat(plan.tree(channel, child).up()).isEqualTo(rank);
                next.add(child);
            }
        }
        assertThat(reached.cardinality()).isEqualTo(plan.size());
    }

    private static void treeIsAChainInsideEachHost(Plan plan, int channel) {
        for (PlannedHost host : plan.hosts()) {
            int entries = 0;
            for (int rank : host.ranks()) {
                TreeLinks links = plan.tree(channel, rank);
                entries += links.isRoot() || !plan.sameHost(rank, links.up()) ? 1 : 0;
                long inside = links.down().stream()
                        .filter(child -> plan.sameHost(rank, child))
                        .count();
                assertThat(inside).isLessThanOrEqualTo(1);
            }
            assertThat(entries).isEqualTo(1);
        }
    }

    private static void treeFollowsTheDoubleBinaryTree(Plan plan, int channel) {
        DoubleBinaryTree shape = new DoubleBinaryTree(plan.hosts().size());
        for (PlannedHost host : plan.hosts()) {
            int above = DoubleBinaryTree.NONE;
            for (int rank : host.ranks()) {
                int up = plan.tree(channel, rank).up();
                if (up >= 0 && !plan.sameHost(rank, up)) {
                    above = plan.hostOf(up).index();
                }
            }
            assertThat(above).isEqualTo(shape.parent(channel % 2, host.index()));
        }
    }

    /**
     * Requires that a host is an inner node in only one of the two trees. If the number of hosts is odd, one host may
     * be an inner node in both.
     */
    private static void innerHostsOfOneTreeAreLeavesOfTheOther(Plan plan) {
        int hosts = plan.hosts().size();
        for (int channel = 0; channel + 1 < plan.channels() && hosts > 1; channel += 2) {
            int inBoth = 0;
            for (PlannedHost host : plan.hosts()) {
                inBoth += isInner(plan, channel, host.ranks()) && isInner(plan, channel + 1, host.ranks()) ? 1 : 0;
            }
            assertThat(inBoth).isLessThanOrEqualTo(hosts % 2);
        }
    }

    private static boolean isInner(Plan plan, int channel, List<Integer> ranks) {
        return ranks.stream().anyMatch(rank -> plan.tree(channel, rank).down().stream()
                .anyMatch(child -> !plan.sameHost(rank, child)));
    }
}
