package io.jccl.search;

import java.util.BitSet;
import java.util.List;
import java.util.function.Function;

/**
 * Finds routes that together carry as much as possible. Each route in turn is removed and placed again where it now
 * costs least. When that gains nothing more, a few routes at a time are placed again at perturbed prices. At the end,
 * routes are shortened if that costs no bandwidth.
 */
final class Packer {

    private static final double BETTER = 1e-9;
    private static final double ROUNDING = 1e-12;
    /** Number of perturbations without gain after which the search ends. */
    private static final int MAX_STALE = 24;

    private static final int MAX_PERTURBED = 3;
    private static final int MAX_SWEEPS = 4;
    private static final double NOISE = 0.5;

    private final Traffic traffic;
    private final RouteFinder finder;
    private final StepBudget budget;
    private final double bound;
    private final Packing packing;
    private final RandomNumbers random = new RandomNumbers();

    /**
     * Routes and their bandwidth.
     *
     * @param routes routes of equal bandwidth
     * @param total bandwidth of all routes together in GB/s
     */
    record Found(List<Route> routes, double total) {}

    /** Makes a packer that stops when the total reaches {@code bound} GB/s. */
    Packer(Traffic traffic, RouteFinder finder, StepBudget budget, double bound) {
        this.traffic = traffic;
        this.finder = finder;
        this.budget = budget;
        this.bound = bound;
        this.packing = new Packing(traffic);
    }

    /**
     * Returns the best {@code count} routes found; null if there is no route or the steps did not suffice for that
     * number.
     */
    Found pack(int count) {
        packing.reset(List.of());
        double fullAt = fullAt(bound, count);
        for (int i = 0; i < count; i++) {
            Route route = cheapest(prices(fullAt, 0), null);
            if (route == null) {
                return null;
            }
            packing.add(route);
        }
        Found best = found();
        int stale = 0;
        while (stale < MAX_STALE && !reached(best)) {
            fullAt = fullAt(Math.min(bound, best.total), count);
            long before = budget.spent();
            if (stale > 0) {
                packing.reset(best.routes);
                perturb(best, fullAt);
            }
            rebalance(fullAt, best);
            Found now = found();
            if (now.total > best.total * (1 + BETTER)) {
                best = now;
                stale = 0;
            } else {
                stale++;
            }
            if (budget.spent() == before) {
                break;
            }
        }
        packing.reset(best.routes);
        shorten(best.total / count);
        return found();
    }

    /**
     * Places the same number of routes so that they share the host more evenly, with no less bandwidth. If the routes
     * exceed the channel limit of a network device, some of them move to other devices. Returns null if the move costs
     * bandwidth or no device has room.
     */
    Found spread(List<Route> routes, double total) {
        packing.reset(List.of());
        boolean moved = false;
        for (Route route : routes) {
            Route placed = overFreeDevices(route, fullAt(total, routes.size()));
            if (placed == null) {
                return null;
            }
            moved |= placed != route;
            packing.add(placed);
        }
        Found start = new Found(List.copyOf(packing.routes()), total);
        rebalance(fullAt(total, routes.size()), start);
        if (packing.total() < total * (1 - ROUNDING)) {
            return moved ? null : start;
        }
        shorten(packing.bandwidth());
        return found();
    }

    boolean reached(Found found) {
        return found.total >= bound * (1 - BETTER);
    }

    private static double fullAt(double total, int count) {
        return Double.isInfinite(total) ? 1 : total / count;
    }

    private Found found() {
        return new Found(List.copyOf(packing.routes()), packing.total());
    }

    private Prices prices(double fullAt, double noise) {
        return new Prices(traffic, packing, fullAt, noise, random);
    }

    private Route cheapest(Costs.Pricing pricing, Route start) {
        return fitting(pricing, costs -> finder.cheapest(costs, start, budget));
    }

    /**
     * Finds a route that the limits of network devices allow; null if there is none. A device with room for only one
     * more channel cannot be both entry and exit.
     */
    private Route fitting(Costs.Pricing pricing, Function<Costs, Route> find) {
        BitSet closed = new BitSet();
        while (true) {
            Route route = find.apply(
                    new Costs(traffic, pricing, packing::open, net -> packing.open(net) && !closed.get(net)));
            if (route == null || packing.fits(route)) {
                return route;
            }
            if (closed.get(route.netOut())) {
                return null;
            }
            closed.set(route.netOut());
        }
    }

    /**
     * Returns the route if its network devices have room. Otherwise returns its order of ranks over other devices; null
     * if no devices have room.
     */
    private Route overFreeDevices(Route route, double fullAt) {
        return packing.fits(route) ? route : fitting(prices(fullAt, 0), costs -> costs.enteringBest(route.order()));
    }

    private void rebalance(double fullAt, Found best) {
        for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
            boolean changed = false;
            for (int i = 0; i < packing.routes().size(); i++) {
                changed |= placeAgain(i, fullAt);
            }
            if (!changed || packing.total() > best.total * (1 + BETTER)) {
                return;
            }
        }
    }

    private boolean placeAgain(int index, double fullAt) {
        double before = Prices.potential(traffic, packing, fullAt);
        Route old = packing.remove(index);
        Route route = cheapest(prices(fullAt, 0), old);
        packing.insert(index, route == null ? old : route);
        if (route == null || route.sameAs(old)) {
            return false;
        }
        if (Prices.potential(traffic, packing, fullAt) < before * (1 - BETTER)) {
            return true;
        }
        packing.remove(index);
        packing.insert(index, old);
        return false;
    }

    private void perturb(Found best, double fullAt) {
        int count = Math.min(packing.routes().size(), 1 + random.next(MAX_PERTURBED));
        Route[] removed = new Route[count];
        for (int i = 0; i < count; i++) {
            removed[i] = packing.remove(random.next(packing.routes().size()));
        }
        for (Route old : removed) {
            Route route = cheapest(prices(fullAt, NOISE), old);
            Route next = route == null ? overFreeDevices(old, fullAt) : route;
            if (next == null) {
                packing.reset(best.routes);
                return;
            }
            packing.add(next);
        }
    }

    /** Places each route again by distance alone, over the capacity that the other routes leave free. */
    private void shorten(double bandwidth) {
        for (int i = 0; i < packing.routes().size(); i++) {
            double inside = packing.bandwidthInside(bandwidth);
            Route old = packing.remove(i);
            Route route = cheapest(freeCapacity(bandwidth), old);
            packing.insert(i, route != null && traffic.distance(route) < traffic.distance(old) ? route : old);
            boolean narrower = packing.bandwidth() < bandwidth * (1 - ROUNDING)
                    || traffic.isTree() && packing.bandwidthInside(bandwidth) < inside * (1 - ROUNDING);
            if (narrower) {
                packing.remove(i);
                packing.insert(i, old);
            }
        }
    }

    private Costs.Pricing freeCapacity(double bandwidth) {
        return (load, distance) -> {
            for (int i = 0; i < load.resources().length; i++) {
                int resource = load.resources()[i];
                double uses = packing.uses(resource) + load.weights()[i];
                if (uses * bandwidth > traffic.gbps(resource) * (1 + ROUNDING)) {
                    return Costs.IMPOSSIBLE;
                }
            }
            return distance;
        };
    }
}
