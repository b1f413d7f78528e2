package io.jccl.cli.doctor;

import io.jccl.cli.output.ByteSizes;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Checks adapters for InfiniBand verbs: their ports, their addresses, and the memory that a process may lock for them.
 */
final class RdmaChecks {

    private static final String CLASS = "/sys/class/infiniband/";
    // Bytes of the slots of one channel with a peer, for all protocols and both directions, rounded up.
    private static final long LOCKED_PER_PEER = 32L << 20;
    private static final int RDMA_HEADER_BYTES = 58; // RoCE v2: IPv4, UDP, BTH, RETH, ICRC
    private static final int LARGEST_PATH_MTU = 4096;
    private static final String NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000";

    private RdmaChecks() {}

    /** A port of an adapter, as sysfs shows it. */
    private record Port(
            String device, String number, String state, String physicalState, String linkLayer, String rate) {

        static Port of(Host host, String device, String number) {
            String folder = folder(device, number);
            return new Port(
                    device,
                    number,
                    afterColon(host.read(folder + "/state")),
                    afterColon(host.read(folder + "/phys_state")),
                    host.read(folder + "/link_layer").orElse("link layer unknown"),
                    host.read(folder + "/rate").orElse("rate unknown"));
        }

        private static String afterColon(Optional<String> text) { // for example "4: ACTIVE"
            return text.map(line -> line.replaceFirst("^\\d+: *", "")).orElse("unknown");
        }

        static String folder(String device, String number) {
            return CLASS + device + "/ports/" + number;
        }

        String folder() {
            return folder(device, number);
        }

        boolean active() {
            return state.equals("ACTIVE");
        }

        boolean ethernet() {
            return linkLayer.equals("Ethernet");
        }

        String name() {
            return device + ":" + number;
        }
    }

    private static List<Port> ports(Host host) {
        List<Port> ports = new ArrayList<>();
        for (String device : host.list(CLASS)) {
            for (String number : host.list(CLASS + device + "/ports")) {
                ports.add(Port.of(host, device, number));
            }
        }
        return ports;
    }

    /** Checks the adapters, and the library and the device files through which processes use them. */
    static List<Finding> devices(Host host) {
        Optional<String> library = host.library("libibverbs.so.1");
        List<String> devices = host.list(CLASS);
        if (devices.isEmpty()) {
            return List.of(Finding.ok("rdma", "no device; libibverbs=" + library.orElse("not installed")));
        }
        String seen = "devices: " + String.join(", ", devices) + "; libibverbs=" + library.orElse("not installed");
        if (library.isEmpty()) {
            return List.of(Finding.warn(
                    "rdma",
                    seen + ": ranks use sockets between hosts",
                    "install libibverbs1 and ibverbs-providers (Debian), or libibverbs (Red Hat)"));
        }
        List<String> files = host.list("/dev/infiniband");
        if (files.stream().noneMatch(file -> file.startsWith("uverbs"))) {
            return List.of(Finding.warn(
                    "rdma",
                    seen + ", and no /dev/infiniband/uverbs*: no process can open them",
                    "modprobe ib_uverbs; for a container, pass --device=/dev/infiniband"));
        }
        return List.of(Finding.ok("rdma", seen));
    }

    /** Checks that ports have a link and, on InfiniBand, a subnet manager. */
    static List<Finding> portStates(Host host) {
        List<Port> ports = ports(host);
        if (ports.isEmpty()) {
            return List.of(Finding.ok("rdma-ports", "none"));
        }
        List<Finding> findings = new ArrayList<>();
        List<String> active = new ArrayList<>();
        for (Port port : ports) {
            String seen = port.name() + " " + port.state() + ", " + port.linkLayer() + ", " + port.rate();
            if (port.active()) {
                active.add(seen);
            } else if (port.state().equals("INIT") && !port.ethernet()) {
                findings.add(Finding.warn(
                        "rdma-ports",
                        seen + ": there is a link, but no subnet manager has given the port an address",
                        "start a subnet manager on the fabric (opensm), or switch the switch's own on"));
            } else {
                findings.add(Finding.warn(
                        "rdma-ports",
                        seen + ", physical state " + port.physicalState() + ": it is not used",
                        port.ethernet()
                                ? "ip link set " + netInterface(host, port)
                                        + " up; check the cable if that does not help"
                                : "check the cable and the port of the switch"));
            }
        }
        if (!active.isEmpty()) {
            findings.add(0, Finding.ok("rdma-ports", String.join("; ", active)));
        }
        return findings;
    }

    private static String netInterface(Host host, Port port) {
        return host.list(port.folder() + "/gid_attrs/ndevs").stream()
                .flatMap(index -> host.read(port.folder() + "/gid_attrs/ndevs/" + index).stream())
                .findFirst()
                .or(() -> host.list(CLASS + port.device() + "/device/net").stream()
                        .findFirst())
                .orElse("its interface");
    }

    /** Checks that ports over Ethernet have a routable address of RoCE v2. */
    static List<Finding> gids(Host host) {
        List<Finding> findings = new ArrayList<>();
        List<String> usable = new ArrayList<>();
        for (Port port : ports(host)) {
            if (!port.active() || !port.ethernet()) {
                continue;
            }
            List<String> own = host.list(port.folder() + "/gids").stream()
                    .filter(index -> isRoutable(host, port, index))
                    .map(index -> "GID " + index + " " + gid(host, port, index))
                    .toList();
            if (own.isEmpty()) {
                findings.add(Finding.warn(
                        "rdma-gids",
                        port.name() + " has no routable RoCE v2 GID: hosts of other subnets cannot reach it",
                        "give its interface an address: ip address add ADDRESS/PREFIX dev "
                                + netInterface(host, port)));
            } else {
                usable.add(port.name() + " " + String.join(", ", own));
            }
        }
        if (!usable.isEmpty() || findings.isEmpty()) {
            findings.add(
                    0,
                    Finding.ok(
                            "rdma-gids",
                            usable.isEmpty() ? "no active port over Ethernet" : String.join("; ", usable)));
        }
        return findings;
    }

    private static String gid(Host host, Port port, String index) {
        return host.read(port.folder() + "/gids/" + index).orElse(NO_GID);
    }

    private static boolean isRoutable(Host host, Port port, String index) {
        String gid = gid(host, port, index);
        String type = host.read(port.folder() + "/gid_attrs/types/" + index).orElse("");
        return type.equals("RoCE v2") && !gid.equals(NO_GID) && !gid.startsWith("fe80:");
    }

    /**
     * Checks the path MTU of ports over Ethernet: the largest power of two that fits into the interface's MTU with
     * RoCE's headers.
     */
    static List<Finding> pathMtu(Host host) {
        List<Finding> findings = new ArrayList<>();
        List<String> seen = new ArrayList<>();
        for (Port port : ports(host)) {
            if (!port.active() || !port.ethernet()) {
                continue;
            }
            String link = netInterface(host, port);
            OptionalLong mtu = NetworkChecks.mtu(host, link);
            if (mtu.isEmpty()) {
                continue;
            }
            long payload = mtu.getAsLong() - RDMA_HEADER_BYTES;
            long path = payload >= LARGEST_PATH_MTU ? LARGEST_PATH_MTU : Long.highestOneBit(Math.max(1, payload));
            String what = port.name() + " on " + link + " mtu=" + mtu.getAsLong() + ": path MTU " + path;
            if (path < LARGEST_PATH_MTU) {
                findings.add(Finding.warn(
                        "rdma-mtu",
                        what + " of " + LARGEST_PATH_MTU + " possible, so more packets for the same data",
                        "ip link set " + link + " mtu 9000 on all hosts, if all switches between them allow it"));
            } else {
                seen.add(what);
            }
        }
        if (!seen.isEmpty() || findings.isEmpty()) {
            findings.add(
                    0,
                    Finding.ok("rdma-mtu", seen.isEmpty() ? "no active port over Ethernet" : String.join("; ", seen)));
        }
        return findings;
    }

    /** Checks the limit on locked memory. Memory that is registered with an adapter counts against the limit. */
    static List<Finding> locked(Host host) {
        OptionalLong limit = host.softLimit("Max locked memory");
        if (limit.isEmpty()) {
            return List.of(Finding.ok("memlock", "limit not visible"));
        }
        boolean unlimited = limit.getAsLong() == Long.MAX_VALUE;
        String seen = "limit=" + (unlimited ? "unlimited" : ByteSizes.format(limit.getAsLong()));
        if (host.list(CLASS).isEmpty()) {
            return List.of(Finding.ok("memlock", seen + "; without an RDMA device nothing is locked"));
        }
        long wanted = LOCKED_PER_PEER * host.ranks();
        return List.of(
                unlimited || limit.getAsLong() >= wanted
                        ? Finding.ok("memlock", seen)
                        : Finding.warn(
                                "memlock",
                                seen + ": with " + host.ranks() + " peers a rank registers about "
                                        + ByteSizes.format(wanted) + " with RDMA devices",
                                "ulimit -l unlimited (limits.conf: memlock unlimited; systemd: LimitMEMLOCK=infinity;"
                                        + " a container: --ulimit memlock=-1)"));
    }
}
