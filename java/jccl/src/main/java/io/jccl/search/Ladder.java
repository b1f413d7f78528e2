package io.jccl.search;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/**
 * Tries different numbers of routes until the bound is reached or the steps are spent. The first numbers that it tries
 * are 1, 2 and the number of network devices (half of it for mirrored routes).
 */
final class Ladder {

    private static final double WORTH_MORE = 1e-6;
    private static final double EQUAL = 1e-9;
    private static final List<Integer> RUNGS = List.of(1, 2, 3, 4, 5, 6, 7, 8, 10, 12);
    private static final int MAX_ROUTES = 16;

    private final Traffic traffic;
    private final SearchOptions options;
    private final StepBudget budget;
    private final double bound;
    private final double maxGBps;
    /** Whether at least one network device may carry fewer channels than the options allow. */
    private final boolean scarce;

    private final int minChannels;
    private final int maxChannels;

    /**
     * The best routes found.
     *
     * @param routes routes of equal bandwidth
     * @param total bandwidth of all routes together in GB/s; for mirrored routes, in one direction
     */
    record Best(List<Route> routes, double total) {

        boolean reaches(double bound) {
            return total >= bound * (1 - EQUAL);
        }
    }

    /**
     * @param bound upper bound of the total bandwidth; the search ends when it is reached
     * @param maxGBps limit of the total bandwidth, even if the links could carry more; infinite if there is none
     */
    Ladder(Traffic traffic, SearchOptions options, StepBudget budget, double bound, double maxGBps) {
        this.traffic = traffic;
        this.options = options;
        this.budget = budget;
        this.bound = bound;
        this.maxGBps = maxGBps;
        boolean fewer = false;
        long channelsOfNets = 0;
        for (int net = 0; net < traffic.nets(); net++) {
            fewer |= traffic.maxChannels(net) < options.maxChannels();
            channelsOfNets += traffic.maxChannels(net);
        }
        this.scarce = fewer;
        this.maxChannels = scarce ? (int) Math.min(options.maxChannels(), channelsOfNets) : options.maxChannels();
        this.minChannels = Math.min(options.minChannels(), maxChannels);
    }

    /**
     * Returns the best routes, and of equally good results the one with the fewest routes; null if there is no route.
     */
    Best climb() {
        RouteFinder finder = RouteFinder.forRanks(traffic.ranks());
        long forFirst = RouteFinder.stepsOfFirst(traffic.ranks(), traffic.nets());
        List<Integer> rungs = rungs();
        long weight = 0;
        for (int count : rungs) {
            weight += count;
        }
        Best best = null;
        for (int count : rungs) {
            // The search for a number of routes gets steps in proportion to the number, because every further route has
            // to be found.
            long share = Math.max(best == null ? forFirst : 0, budget.left() / weight * count);
            weight -= count;
            Packer.Found packed = budget.share(share, part -> new Packer(traffic, finder, part, bound).pack(count));
            Best found = packed == null ? null : best(packed);
            if (found != null && (best == null || isBetter(found, best))) {
                best = found;
                if (best.reaches(bound) && !tooFew(best)) {
                    break;
                }
            }
        }
        return best == null ? null : copied(best, finder);
    }

    private Best best(Packer.Found packed) {
        return new Best(packed.routes(), Math.min(packed.total(), maxGBps));
    }

    private boolean isBetter(Best found, Best best) {
        return found.total > best.total * (1 + WORTH_MORE)
                || tooFew(best) && found.routes.size() > best.routes.size() && found.total >= best.total * (1 - EQUAL);
    }

    /**
     * Returns true if network devices are scarce and the routes are too few. Then there may be no free device for
     * copies of routes, so the search must find enough different routes.
     */
    private boolean tooFew(Best best) {
        return scarce && best.routes.size() * traffic.channelsPerRoute() < minChannels;
    }

    /**
     * Copies the routes to get as many channels as the options ask for. If there are several network devices, the
     * copies are spread over them.
     */
    private Best copied(Best best, RouteFinder finder) {
        for (int copies = copies(best); copies > 1; copies--) {
            List<Route> all = new ArrayList<>();
            for (int copy = 0; copy < copies; copy++) {
                all.addAll(best.routes);
            }
            if (traffic.nets() < 2 && !scarce) {
                return new Best(all, best.total);
            }
            Packer.Found spread = budget.share(
                    budget.left(), part -> new Packer(traffic, finder, part, bound).spread(all, best.total));
            if (spread != null) {
                return best(spread);
            }
        }
        return best;
    }

    private int copies(Best best) {
        int found = best.routes.size() * traffic.channelsPerRoute();
        double total = best.total * traffic.channelsPerRoute();
        int useful = (int) Math.min(maxChannels, Math.ceil(total / (found * options.channelGBps()) * (1 - EQUAL)));
        // An even number of channels divides better among trees and among hosts.
        useful += useful > 1 && (useful * found) % 2 == 1 ? 1 : 0;
        int min = (minChannels + found - 1) / found;
        int max = maxChannels / found;
        return Math.max(1, Math.max(scarce ? Math.min(min, max) : min, Math.min(useful, max)));
    }

    /**
     * Returns the numbers of routes to try. A number is tried only if copying all its routes equally often gives an
     * allowed number of channels.
     */
    private List<Integer> rungs() {
        int channelsPerRoute = traffic.channelsPerRoute();
        int perNet = traffic.nets() / channelsPerRoute;
        int fewest = (minChannels + channelsPerRoute - 1) / channelsPerRoute;
        TreeSet<Integer> counts = new TreeSet<>(RUNGS);
        counts.addAll(List.of(perNet, traffic.ranks(), maxChannels, scarce ? fewest : 1));
        List<Integer> first = new ArrayList<>();
        List<Integer> others = new ArrayList<>();
        for (int count : counts) {
            if (count >= 1 && (count <= MAX_ROUTES || scarce && count == fewest)) {
                int channels = count * channelsPerRoute;
                int copies = scarce ? 1 : (minChannels + channels - 1) / channels;
                if (copies * channels <= maxChannels) {
                    (count > 2 && count != perNet ? others : first).add(count);
                }
            }
        }
        first.addAll(others);
        return first;
    }
}
