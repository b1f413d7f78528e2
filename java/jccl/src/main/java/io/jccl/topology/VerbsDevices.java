package io.jccl.topology;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the adapters for InfiniBand verbs from the kernel, one entry per port. */
final class VerbsDevices {

    private static final String CLASS = "sys/class/infiniband/";
    private static final int MAX_PORT = 255;

    /** Holds patterns that are compiled only if the host has an adapter. */
    private static final class Forms {
        static final Pattern RATE = Pattern.compile("([0-9]{1,5}(?:\\.[0-9])?) Gb/sec.*");
        static final Pattern GUID =
                Pattern.compile("([0-9a-fA-F]{4}):([0-9a-fA-F]{4}):([0-9a-fA-F]{4}):([0-9a-fA-F]{4})");
    }

    private final SystemFiles files;
    private final PciDevices pci;

    /**
     * A port of an adapter.
     *
     * @param device the adapter's name
     * @param number the number of the port, from 1
     * @param mbps its rate in Mb/s, 0 if unknown
     * @param guid the id of the card, which all its ports share, such as {@code 0x506b4b0300a10000}; empty if unknown
     * @param linkLayer InfiniBand or Ethernet, empty if unknown
     * @param state active, down, init, armed, or empty
     * @param netInterface the network interface on the same port, empty if there is none
     * @param chain bus ids from the root port to the card, empty if it is not on PCI
     */
    record Port(
            String device,
            int number,
            int mbps,
            String guid,
            String linkLayer,
            String state,
            String netInterface,
            List<String> chain) {

        boolean isActive() {
            return state.equals("active");
        }
    }

    VerbsDevices(SystemFiles files, PciDevices pci) {
        this.files = files;
        this.pci = pci;
    }

    /** Returns all ports, sorted by the names of their adapters. */
    List<Port> list() {
        List<Port> ports = new ArrayList<>();
        for (String device : files.names("sys/class/infiniband")) {
            if (!Ascii.isWord(device, 64)) {
                continue;
            }
            List<String> chain =
                    files.realPath(CLASS + device).map(pci::busIdsIn).orElse(List.of());
            for (String name : files.names(CLASS + device + "/ports")) {
                int number = PciDevices.integer(name);
                if (number >= 1 && number <= MAX_PORT) {
                    ports.add(port(device, number, chain));
                }
            }
        }
        return ports;
    }

    private Port port(String device, int number, List<String> chain) {
        String folder = CLASS + device + "/ports/" + number;
        Matcher rate = Forms.RATE.matcher(files.line(folder + "/rate").orElse(""));
        // The file contains "4: ACTIVE".
        String state = files.line(folder + "/state").orElse("").replaceFirst("^[0-9]+: *", "");
        return new Port(
                device,
                number,
                rate.matches() ? (int) (Double.parseDouble(rate.group(1)) * 1000) : 0,
                guid(device),
                files.line(folder + "/link_layer").orElse(""),
                state.toLowerCase(Locale.ROOT),
                netInterface(device, number),
                chain);
    }

    private String guid(String device) {
        for (String file : List.of("sys_image_guid", "node_guid")) {
            Matcher guid =
                    Forms.GUID.matcher(files.line(CLASS + device + "/" + file).orElse(""));
            if (guid.matches() && !guid.group().matches("[0:]*")) {
                return "0x" + guid.group(1) + guid.group(2) + guid.group(3) + guid.group(4);
            }
        }
        return "";
    }

    /**
     * Returns the network interface of a port. On Ethernet the port's first address names the interface. On InfiniBand
     * it is the card's interface with this port number.
     */
    private String netInterface(String device, int number) {
        String folder = CLASS + device + "/ports/" + number + "/gid_attrs/ndevs";
        for (String index : files.names(folder)) {
            Optional<String> name = files.line(folder + "/" + index);
            if (name.isPresent()) {
                return name.get();
            }
        }
        List<String> names = files.names(CLASS + device + "/device/net");
        return names.stream()
                .filter(name -> files.line(CLASS + device + "/device/net/" + name + "/dev_port")
                        .map(PciDevices::integer)
                        .filter(port -> port == number - 1)
                        .isPresent())
                .findFirst()
                .orElse(names.size() == 1 && number == 1 ? names.get(0) : "");
    }
}
