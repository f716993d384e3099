/*
 * Resource director technology (RDT) and frequencies for qemu's emulated CPU, so that an unmodified kernel offers
 * resctrl and cpufreq: what CPUID says of them, and their registers as storage of the scope that the hardware gives
 * them. No cache is divided and nothing runs faster or slower. What the kernel tells the hardware is in the registers.
 *
 * The variable RDT is the shape, e.g. "l3=11,clos=16"; without it this is qemu's own CPU. Keys, with their defaults:
 *
 *   l3=11 clos=16      ways of the L3 cache and its classes; l3=0: not allocated
 *   l2=0 l2clos=8      the same for the L2 cache
 *   mba=8              classes of memory bandwidth; 0: not allocated
 *   rmid=32            monitoring ids; 0: no monitoring
 *   cdp=0 sparse=0     1: code and data separately, masks with holes
 *   shared=0           ways of the L3 cache that devices use as well, a mask
 *   hwp=1              Intel: 1: HWP, 0: IA32_PERF_CTL
 *
 * The vendor is that of -cpu. A die of -smp has one L3 cache. Between 0.8 and 2.2 GHz, with turbo 3.5 GHz.
 * Sources: Intel SDM vol. 3, chapters "Debug, branch profile, TSC, and Intel RDT features" and "Power and thermal
 * management", vol. 4 chapter 2; AMD64 Technology Platform Quality of Service Extensions, 56375.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "cpu.h"
#include "rdt.h"

enum {
    MAX_CPUS = 512,
    MAX_RMIDS = 1024,
    MBA_AMD_UNLIMITED = 2048, /* in 1/8 GB/s */
    MBA_INTEL_MAX_DELAY = 90, /* percent */
    COUNTER_UNIT = 4096,      /* bytes; Linux rounds the size of L2 / RMIDs (AMD) down to it: 0 would keep RMIDs dirty */
    CACHE_UNITS_PER_CPU = 4,  /* what a CPU has of the cache */
    NS_PER_TRAFFIC_UNIT = 1000000,
    EVENT_OCCUPANCY = 1, EVENT_TOTAL_TRAFFIC = 2, EVENT_LOCAL_TRAFFIC = 3,
    RATIO_MIN = 8, RATIO_BASE = 22, RATIO_TURBO = 35,
};

enum {
    MPERF = 0xE7, APERF = 0xE8, PLATFORM_INFO = 0xCE, PERF_STATUS = 0x198, PERF_CTL = 0x199, TURBO_RATIO_LIMIT = 0x1AD,
    ENERGY_PERF_BIAS = 0x1B0, HWP_CAPABILITIES = 0x771, HWP_REQUEST = 0x774,
    QM_EVTSEL = 0xC8D, QM_CTR = 0xC8E, PQR_ASSOC = 0xC8F, L3_MASK = 0xC90, L2_MASK = 0xD10, MBA_INTEL = 0xD50,
    MBA_AMD = 0xC0000200,
    PSTATE_LIMIT = 0xC0010061, PSTATE_CONTROL = 0xC0010062, PSTATE_STATUS = 0xC0010063, PSTATE_DEFINITION = 0xC0010064,
};

/* The shape */

typedef struct {
    uint32_t l3, clos, l2, l2clos, mba, rmid, cdp, sparse, shared, hwp;
} Shape;

static void set_key(Shape *shape, char *pair)
{
    const struct { const char *key; uint32_t *value; } keys[] = {
        { "l3", &shape->l3 }, { "clos", &shape->clos }, { "l2", &shape->l2 }, { "l2clos", &shape->l2clos },
        { "mba", &shape->mba }, { "rmid", &shape->rmid }, { "cdp", &shape->cdp }, { "sparse", &shape->sparse },
        { "shared", &shape->shared }, { "hwp", &shape->hwp },
    };
    char *value = strchr(pair, '=');
    if (value) {
        *value++ = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
            if (strcmp(pair, keys[i].key) == 0) {
                *keys[i].value = strtoul(value, NULL, 0);
                return;
            }
        }
    }
    error_report("RDT: unknown key '%s'", pair);
    exit(1);
}

/* Null: there is no such CPU but qemu's own. */
static const Shape *the_shape(void)
{
    static Shape shape = { .l3 = 11, .clos = 16, .l2clos = 8, .mba = 8, .rmid = 32, .hwp = 1 };
    static gsize is_read;
    const char *text = getenv("RDT");
    if (text && g_once_init_enter(&is_read)) {
        g_auto(GStrv) pairs = g_strsplit(text, ",", 0);
        for (char **pair = pairs; *pair; pair++) {
            if (**pair) {
                set_key(&shape, *pair);
            }
        }
        if (shape.rmid > MAX_RMIDS) {
            error_report("RDT: at most %d monitoring ids", MAX_RMIDS);
            exit(1);
        }
        g_once_init_leave(&is_read, 1);
    }
    return text ? &shape : NULL;
}

static uint32_t ones(uint32_t ways)
{
    return (1ull << ways) - 1;
}

/* CPUID */

void rdt_cpuid(CPUX86State *env, uint32_t leaf, uint32_t subleaf,
               uint32_t *eax, uint32_t *ebx, uint32_t *ecx, uint32_t *edx)
{
    const Shape *s = the_shape();
    bool amd = IS_AMD_CPU(env);
    if (!s) {
        return;
    }
    switch (leaf) {
    case 6:
        *ecx |= 1; /* MPERF and APERF */
        if (!amd) {
            *eax |= 1 << 1; /* turbo */
        }
        if (!amd && s->hwp) {
            *eax |= 1 << 7 | 1 << 9 | 1 << 10; /* HWP, its activity window and preference */
        }
        break;
    case 7:
        if (subleaf == 0) {
            *ebx |= (s->rmid ? 1 << 12 : 0) | (s->l3 || s->l2 || s->mba ? 1 << 15 : 0);
        }
        break;
    case 0xF: /* monitoring */
        *eax = *ebx = *ecx = *edx = 0;
        if (s->rmid && subleaf == 0) {
            *ebx = s->rmid - 1;
            *edx = 1 << 1;
        } else if (s->rmid && subleaf == 1) {
            *ebx = COUNTER_UNIT;
            *ecx = s->rmid - 1;
            *edx = 7; /* all three events */
        }
        break;
    case 0x10: /* allocation: 1 L3, 2 L2, 3 memory bandwidth */
        *eax = *ebx = *ecx = *edx = 0;
        if (subleaf == 0) {
            *ebx = (s->l3 ? 1 << 1 : 0) | (s->l2 ? 1 << 2 : 0) | (s->mba && !amd ? 1 << 3 : 0);
        } else if (subleaf == 1 && s->l3) {
            *eax = s->l3 - 1;
            *ebx = s->shared;
            *ecx = (s->cdp ? 1 << 2 : 0) | (s->sparse ? 1 << 3 : 0);
            *edx = s->clos - 1;
        } else if (subleaf == 2 && s->l2) {
            *eax = s->l2 - 1;
            *ecx = (s->cdp ? 1 << 2 : 0) | (s->sparse ? 1 << 3 : 0);
            *edx = s->l2clos - 1;
        } else if (subleaf == 3 && s->mba && !amd) {
            *eax = MBA_INTEL_MAX_DELAY - 1;
            *ecx = 1 << 2; /* linear */
            *edx = s->mba - 1;
        }
        break;
    case 0x80000001:
        if (amd) {
            *ecx |= CPUID_EXT3_TOPOEXT; /* without it the kernel takes each CPU for an L3 cache of its own */
        }
        break;
    case 0x80000008:
        if (amd && s->mba) {
            *ebx |= 1 << 6;
        }
        break;
    case 0x80000020:
        *eax = *ebx = *ecx = *edx = 0;
        if (amd && s->mba && subleaf == 0) {
            *ebx = 1 << 1;
        } else if (amd && s->mba && subleaf == 1) {
            *eax = ctz32(MBA_AMD_UNLIMITED);
            *edx = s->mba - 1;
        }
        break;
    }
}

/* Registers */

typedef enum { THREAD, CORE, DIE } Scope;

static const struct { uint32_t first, last; Scope scope; } registers[] = {
    { PLATFORM_INFO, PLATFORM_INFO, THREAD }, { PERF_CTL, PERF_CTL, THREAD }, { TURBO_RATIO_LIMIT, TURBO_RATIO_LIMIT, THREAD },
    { ENERGY_PERF_BIAS, ENERGY_PERF_BIAS, THREAD }, { 0x770, 0x77F, THREAD }, /* HWP */
    { 0xC81, 0xC81, DIE }, { 0xC82, 0xC82, CORE }, /* IA32_L3_QOS_CFG, IA32_L2_QOS_CFG: CDP */
    { QM_EVTSEL, QM_EVTSEL, THREAD }, { PQR_ASSOC, PQR_ASSOC, THREAD },
    { L3_MASK, L3_MASK + 0x7F, DIE }, { L2_MASK, L2_MASK + 0x3F, CORE }, { MBA_INTEL, MBA_INTEL + 0x3F, DIE },
    { MBA_AMD, MBA_AMD + 0x3F, DIE }, { PSTATE_LIMIT, PSTATE_LIMIT, THREAD }, { PSTATE_CONTROL, PSTATE_CONTROL, THREAD },
    { PSTATE_DEFINITION, PSTATE_DEFINITION + 7, THREAD },
};

static uint64_t value_at_reset(const Shape *s, uint32_t number)
{
    if (number >= L3_MASK && number < L3_MASK + 0x80) {
        return ones(s->l3);
    }
    if (number >= L2_MASK && number < L2_MASK + 0x40) {
        return ones(s->l2);
    }
    if (number >= MBA_AMD && number < MBA_AMD + 0x40) {
        return MBA_AMD_UNLIMITED;
    }
    switch (number) {
    case PLATFORM_INFO: return (uint64_t)RATIO_MIN << 40 | RATIO_BASE << 8;
    case PERF_CTL: return RATIO_BASE << 8;
    case TURBO_RATIO_LIMIT: return 0x0101010101010101ull * RATIO_TURBO;
    case ENERGY_PERF_BIAS: return 6;
    case HWP_CAPABILITIES: return RATIO_MIN << 24 | 12 << 16 | RATIO_BASE << 8 | RATIO_TURBO;
    case HWP_REQUEST: return 0x8000FF01; /* preference 0x80, maximum 0xFF, minimum 1 */
    /* 200 MHz * id / divisor: 2.2, 1.5 and 0.8 GHz */
    case PSTATE_LIMIT: return 2 << 4;
    case PSTATE_DEFINITION: return 1ull << 63 | 8 << 8 | 88;
    case PSTATE_DEFINITION + 1: return 1ull << 63 | 8 << 8 | 60;
    case PSTATE_DEFINITION + 2: return 1ull << 63 | 8 << 8 | 32;
    }
    return 0;
}

static bool is_there(CPUX86State *env, const Shape *s, uint32_t number)
{
    if (IS_AMD_CPU(env)) {
        return number >= 0xC81;
    }
    return number < MBA_AMD && (s->hwp || number < 0x770 || number > 0x77F);
}

/* The first CPU that has this cache, or what else the scope is, with `cpu`. */
static int first_of(CPUState *cpu, Scope scope)
{
    int size = scope == THREAD ? 1 : scope == CORE ? cpu->nr_threads : cpu->nr_cores * cpu->nr_threads;
    return cpu->cpu_index / size * size;
}

/* Null: none of these. */
static uint64_t *storage(CPUX86State *env, const Shape *s, uint32_t number)
{
    static uint64_t *values[MAX_CPUS][ARRAY_SIZE(registers)];
    CPUState *cpu = env_cpu(env);
    if (!is_there(env, s, number) || cpu->cpu_index >= MAX_CPUS) {
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_SIZE(registers); i++) {
        uint32_t first = registers[i].first, last = registers[i].last;
        if (number >= first && number <= last) {
            uint64_t **range = &values[first_of(cpu, registers[i].scope)][i];
            if (!*range) {
                *range = g_new(uint64_t, last - first + 1);
                for (uint32_t n = first; n <= last; n++) {
                    (*range)[n - first] = value_at_reset(s, n);
                }
            }
            return *range + (number - first);
        }
    }
    return NULL;
}

/* Monitoring: a CPU has a little of the cache and makes steady traffic, half of it local, for the id that it has. */

static struct { uint32_t rmid; int64_t since; } running[MAX_CPUS];
static int64_t ran[MAX_CPUS][MAX_RMIDS]; /* in ns, by the first CPU of the die */

static void run_as(CPUState *cpu, uint32_t rmid)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    ran[first_of(cpu, DIE)][running[cpu->cpu_index].rmid] += now - running[cpu->cpu_index].since;
    running[cpu->cpu_index].since = now;
    running[cpu->cpu_index].rmid = rmid % MAX_RMIDS;
}

static uint64_t counted(CPUState *cpu, uint64_t select)
{
    uint32_t rmid = (select >> 32) % MAX_RMIDS;
    int first = first_of(cpu, DIE), in_use = 0;
    CPUState *other;
    CPU_FOREACH(other) {
        if (first_of(other, DIE) == first) {
            run_as(other, running[other->cpu_index].rmid);
            in_use += running[other->cpu_index].rmid == rmid;
        }
    }
    switch (select & 0xFF) {
    case EVENT_OCCUPANCY: return in_use * CACHE_UNITS_PER_CPU;
    case EVENT_TOTAL_TRAFFIC: return ran[first][rmid] / NS_PER_TRAFFIC_UNIT;
    case EVENT_LOCAL_TRAFFIC: return ran[first][rmid] / NS_PER_TRAFFIC_UNIT / 2;
    }
    return 1ull << 63; /* error */
}

static QemuSpin lock; /* CPUs are threads */

bool rdt_read_msr(CPUX86State *env, uint32_t number, uint64_t *value)
{
    const Shape *s = the_shape();
    uint64_t *stored;
    if (!s) {
        return false;
    }
    if (number == APERF || number == MPERF) {
        *value = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) * RATIO_BASE / 10; /* always at the base frequency */
        return true;
    }
    qemu_spin_lock(&lock);
    stored = storage(env, s, number == PERF_STATUS ? PERF_CTL : number == PSTATE_STATUS ? PSTATE_CONTROL :
                             number == QM_CTR ? QM_EVTSEL : number);
    if (stored) {
        *value = number == QM_CTR ? counted(env_cpu(env), *stored) : *stored;
    }
    qemu_spin_unlock(&lock);
    return stored != NULL;
}

bool rdt_write_msr(CPUX86State *env, uint32_t number, uint64_t value)
{
    const Shape *s = the_shape();
    uint64_t *stored;
    if (!s) {
        return false;
    }
    qemu_spin_lock(&lock);
    stored = storage(env, s, number);
    if (stored && number == PQR_ASSOC) {
        run_as(env_cpu(env), value);
    }
    if (stored) {
        *stored = value;
    }
    qemu_spin_unlock(&lock);
    return stored != NULL;
}
