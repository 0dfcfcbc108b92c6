/**
 * Starts the page and connects its parts: the sheet, the list, the details, the address.
 */
'use strict';

(page => {
  const FORMAT = 1;
  /** Names are loaded for cells at which the pointer rests, not for all that it crosses. */
  const REST_MS = 80;

  const place = id => document.getElementById(id);

  const refuse = text => {
    place('message').textContent = text;
    place('message').hidden = false;
  };

  const boot = async () => {
    let grid;
    try {
      grid = await page.data.grid();
    } catch {
      refuse('There is no grid here: grid.js is missing or cannot be read. Copy the whole folder, or run outlive grid again.');
      return;
    }
    if (grid.version !== FORMAT) {
      refuse(`This grid has format ${grid.version}, this page shows format ${FORMAT}. Make the grid again with one Outlive.`);
    } else if (!grid.cells) {
      refuse('This grid holds no images.');
    } else if (!window.OpenSeadragon) {
      refuse('page/openseadragon.min.js is missing: copy the whole folder.');
    } else {
      place('page').hidden = false;
      new Page(grid).start();
    }
  };

  class Page {
    #grid;
    #viewer;
    #list;
    #search;
    #broken;
    #details;
    #selected = -1;
    #hovered = -1;
    #timer = 0;
    #writing = 0;

    constructor(grid) {
      this.#grid = grid;
      // Whatever takes room beside the sheet is there before the sheet is measured.
      this.#describe();
      const places = { sheet: place('sheet'), marks: place('marks'), map: place('map') };
      this.#viewer = new page.Viewer(grid, places, {
        ready: () => this.#ready(),
        click: index => this.#click(index),
        hover: index => this.#hover(index),
      });
      const settle = () => this.#viewer.resized();
      this.#list = new page.List(grid, place('list'), {
        choose: index => this.#goTo(index),
        close: () => this.#closeList(),
      });
      this.#search = new page.Search(grid, { list: this.#list, marks: this.#viewer.marks, settle });
      this.#broken = new page.Broken({ list: this.#list, settle });
      this.#details = new page.Details(grid, place('details'), {
        close: () => this.#closeDetails(),
        step: by => this.#select(this.#selected + by, { approach: true, open: true }),
      });
      page.viewer = this.#viewer;
    }

    start() {
      this.#connectHeader();
      this.#connectKeys();
      // The event's own address: ours may have been written over it since.
      window.addEventListener('hashchange', event => this.#readAddress(new URL(event.newURL).hash));
      if (this.#grid.live) {
        const places = { live: place('live'), liveText: place('live-text'), liveKnown: place('live-known') };
        new page.Live(places, {
          renewed: () => this.#renewed(),
          finished: () => this.#describeAgain(),
        }).start();
      }
    }

    #describe() {
      const { title, cells, columns, rows, broken, complete, live } = this.#grid;
      const { count, some, visible } = page.text;
      document.title = visible(title);
      place('title').textContent = `${visible(title)}:`;
      place('counts').textContent = `${some(cells, 'image')}, ${count(columns)} × ${count(rows)}`;
      place('broken').hidden = !broken;
      place('broken').textContent = `${count(broken)} broken`;
      place('unfinished').hidden = complete || live;
      place('live').hidden = !live || complete;
    }

    async #describeAgain() {
      try {
        Object.assign(this.#grid, await page.data.gridAgain(), { live: true });
        this.#describe();
      } catch {
        // What is shown stays true; only the count of broken images may be old.
      }
    }

    #renewed() {
      this.#viewer.renew();
      this.#details.renew();
    }

    #connectHeader() {
      const query = place('query');
      query.addEventListener('input', () => this.#search.later(query.value));
      query.addEventListener('keydown', event => {
        if (event.key === 'ArrowDown' && this.#list.isOpen) {
          event.preventDefault();
          this.#list.enter();
        } else if (event.key === 'Enter') {
          this.#search.first(query.value);
        }
      });
      query.addEventListener('focus', () => this.#search.prepare());
      place('broken').onclick = () => {
        query.value = '';
        this.#search.stop();
        this.#broken.open();
      };
      page.fillKeys(place('keys'));
      place('help').onclick = () => place('keys').showModal();
      place('zoom-in').onclick = () => this.#viewer.zoomBy(2);
      place('zoom-out').onclick = () => this.#viewer.zoomBy(0.5);
      place('home').onclick = () => this.#viewer.home();
      place('full-screen').onclick = () => this.#fullScreen();
      place('full-screen').hidden = !document.fullscreenEnabled;
    }

    #connectKeys() {
      const last = this.#grid.cells - 1;
      const to = index => this.#select(index, { approach: true, open: this.#details.isOpen });
      page.listenToKeys(place('keys'), {
        move: (columns, rows) => this.#move(columns, rows),
        open: () => this.#selected >= 0 && this.#select(this.#selected, { approach: true, open: true }),
        escape: () => this.#escape(),
        search: () => place('query').select(),
        help: () => place('keys').showModal(),
        zoomIn: () => this.#viewer.zoomBy(2),
        zoomOut: () => this.#viewer.zoomBy(0.5),
        home: () => this.#viewer.home(),
        fullScreen: () => this.#fullScreen(),
        first: () => to(0),
        last: () => to(last),
        match: step => {
          const found = this.#viewer.marks.neighbour(this.#selected, step);
          if (found >= 0) {
            this.#goTo(found);
          }
        },
      });
    }

    #ready() {
      this.#viewer.start();
      this.#readAddress(location.hash);
    }

    /** `#cell=123` selects a cell and shows it. */
    #readAddress(hash) {
      const named = /^#cell=(\d+)$/u.exec(hash);
      const index = named ? Number(named[1]) : -1;
      if (index >= 0 && index < this.#grid.cells && index !== this.#selected) {
        this.#goTo(index, true);
      }
    }

    /** Once the selection rests: browsers allow a page few changes of its address. */
    #writeAddressLater() {
      clearTimeout(this.#writing);
      this.#writing = setTimeout(() => this.#writeAddress(), REST_MS);
    }

    #writeAddress() {
      const address = this.#selected >= 0 ? `#cell=${this.#selected}` : location.pathname + location.search;
      try {
        history.replaceState(null, '', address);
      } catch {
        // Some browsers refuse this to files. Then the address stays as it is.
      }
    }

    /** Flies to a cell and shows what it is. */
    #goTo(index, immediately = undefined) {
      this.#select(index, { open: true });
      this.#viewer.later(() => this.#viewer.fly(index, immediately));
    }

    #select(index, { open = false, approach = false }) {
      if (index < 0 || index >= this.#grid.cells) {
        return;
      }
      const opened = open && !this.#details.isOpen;
      this.#selected = index;
      this.#viewer.marks.select(index);
      this.#list.select(index);
      this.#writeAddressLater();
      if (open) {
        this.#details.open(index);
      }
      if (opened) {
        this.#viewer.resized();
      }
      if (approach) {
        this.#viewer.later(() => this.#viewer.approach(index));
      }
      this.#say(index);
    }

    #move(columns, rows) {
      if (this.#selected < 0) {
        this.#select(0, { approach: true });
        return;
      }
      const wide = this.#grid.columns;
      const last = this.#grid.cells - 1;
      let index = this.#selected + columns;
      const steps = Math.abs(rows);
      for (let step = 0; step < steps; step += 1) {
        const next = index + Math.sign(rows) * wide;
        index = next >= 0 && next <= last ? next : index;
      }
      if (index !== this.#selected) {
        this.#select(index, { approach: true, open: this.#details.isOpen });
      }
    }

    #click(index) {
      if (index >= 0) {
        this.#select(index, { open: true });
        this.#viewer.later(() => this.#viewer.reveal(index));
      }
    }

    #hover(index) {
      if (index !== this.#hovered) {
        this.#hovered = index;
        this.#say(index >= 0 ? index : this.#selected);
      }
    }

    /** The status line: the name of a cell. */
    #say(index) {
      const line = place('status');
      clearTimeout(this.#timer);
      line.hidden = index < 0;
      if (index < 0) {
        return;
      }
      const show = cell => {
        line.replaceChildren(page.name(cell.name));
        if (cell.problem) {
          line.append(page.element('span', { className: 'bad' }, page.text.visible(cell.problem)));
        }
      };
      const cell = page.data.cellAtHand(this.#grid, index);
      if (cell) {
        show(cell);
        return;
      }
      line.textContent = `Cell ${page.text.count(index)}`;
      this.#timer = setTimeout(() => {
        const wanted = () => index === this.#hovered || index === this.#selected;
        page.data.cell(this.#grid, index).then(found => wanted() && show(found), () => {});
      }, REST_MS);
    }

    #escape() {
      if (this.#details.isOpen) {
        this.#closeDetails();
      } else if (this.#list.isOpen || place('query').value) {
        this.#closeList();
      } else if (this.#selected >= 0) {
        this.#selected = -1;
        this.#viewer.marks.select(-1);
        this.#writeAddressLater();
        this.#say(this.#hovered);
      }
      if (document.activeElement === place('query')) {
        this.#viewer.canvas.focus();
      }
    }

    #closeDetails() {
      const inside = place('details').contains(document.activeElement);
      this.#details.close();
      this.#viewer.resized();
      if (inside) {
        this.#viewer.canvas.focus();
      }
    }

    #closeList() {
      const inside = place('list').contains(document.activeElement);
      place('query').value = '';
      this.#search.stop();
      this.#list.close();
      this.#viewer.resized();
      if (inside) {
        place('query').focus();
      }
    }

    #fullScreen() {
      if (document.fullscreenElement) {
        document.exitFullscreen();
      } else {
        document.documentElement.requestFullscreen().catch(() => {});
      }
    }
  }

  boot();
})(window.outlivePage);
